/** What is read of one run: its check, its sealed documents, its report. docs/api.md, "GET /runs/{id}" and what follows. */
import type { JsonObject } from "@runseal/canonical"
import { type ArtifactKey, OUTCOME_KINDS, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import {
  ARTIFACT_ANSWERS,
  type ArtifactAnswers,
  BUNDLE_ADDITIONS,
  BUNDLE_FORMS,
  type BundleAddition,
  type BundleForm,
  REPORT_FORMATS,
  type ReportFormat,
  type VerifyAnswer,
} from "@runseal/core/wire/run-summaries"
import { type DsseEnvelope, dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import type * as v from "valibot"
import { as, query, received } from "./calls.ts"
import { InvalidArgumentError } from "./client-errors.ts"
import type { Reply } from "./exchange.ts"
import { lenient } from "./lenient.ts"
import { writeFile } from "./local-files.ts"
import { okObject, okPdf, type Received } from "./read-reply.ts"
import { verifyAnswerSchema } from "./run-answers.ts"
import type { CallOptions } from "./settings.ts"
import type { Send } from "./transport.ts"

/** `form` is sealed by default. */
export type BundleOptions = CallOptions & { readonly form?: BundleForm; readonly with?: BundleAddition }
/** `format` is comprehensive by default. */
export type ReportOptions = CallOptions & { readonly format?: ReportFormat }

export type RunReads = {
  /** The server's self-check of a run's seal. Evidence for third parties is `bundle` with `verifyBundle`. */
  readonly verifyRun: (runId: number, options?: CallOptions) => Promise<VerifyAnswer>
  /** A run's allow token or receipt; NotFoundError when the run ended in another state. */
  readonly artifact: <Key extends ArtifactKey>(
    runId: number,
    key: Key,
    options?: CallOptions,
  ) => Promise<Received<ArtifactAnswers[Key]>>
  /**
   * A run's audit bundle, unverified: pass `text` to `verifyBundle`, or save it. As it was sealed, or with `form: "full"` with every
   * section written out. With `with: "witnessed"` also what witnesses signed of the log since, once that has all its entries.
   */
  readonly bundle: (runId: number, options?: BundleOptions) => Promise<Received<JsonObject>>
  /** A run's in-toto statement in its DSSE envelope, unverified; NotFoundError for a stage_error. */
  readonly statement: (runId: number, options?: CallOptions) => Promise<Received<DsseEnvelope>>
  /** A run's audit report as a PDF, which contains the bundle: `verifier report.pdf` verifies it offline. */
  readonly report: (runId: number, options?: ReportOptions) => Promise<Uint8Array>
  /** `report`, written to a file, which is replaced if it exists. Node 20.16 and later. */
  readonly saveReport: (runId: number, file: string, options?: ReportOptions) => Promise<void>
}

/** Name of a run's statement under its path. */
export const STATEMENT_FILE = "statement.intoto.json"

/** @param pathOf path of a run. It throws InvalidArgumentError for what is no run's id */
export function runReads(send: Send, pathOf: (runId: number) => string): RunReads {
  const get = <T>(path: string, read: (reply: Reply) => T, call?: CallOptions): Promise<T> =>
    send({ path, repeatable: true }, read, call)
  const report: RunReads["report"] = async (runId, { format, ...call } = {}) => {
    if (format !== undefined && !REPORT_FORMATS.includes(format))
      throw new InvalidArgumentError(`A report's format is one of ${REPORT_FORMATS.join(", ")}.`)
    return await get(`${pathOf(runId)}/report.pdf${format === undefined ? "" : query({ format })}`, okPdf, call)
  }
  return {
    verifyRun: async (runId, call) => await get(`${pathOf(runId)}/verify`, as(verifyAnswerSchema), call),
    artifact: async (runId, key, call) =>
      await get(`${pathOf(runId)}/${artifactPath(key)}`, received(lenient(ARTIFACTS[key])), call),
    bundle: async (runId, { form, with: addition, ...call } = {}) => {
      if (form !== undefined && !BUNDLE_FORMS.includes(form))
        throw new InvalidArgumentError(`A bundle's form is one of ${BUNDLE_FORMS.join(", ")}.`)
      if (addition !== undefined && !BUNDLE_ADDITIONS.includes(addition))
        throw new InvalidArgumentError(`A bundle is asked for with ${BUNDLE_ADDITIONS.join(", ")}, or with nothing.`)
      return await get(`${pathOf(runId)}/artifacts${query({ form, with: addition })}`, okObject, call)
    },
    statement: async (runId, call) =>
      await get(`${pathOf(runId)}/${STATEMENT_FILE}`, received(dsseEnvelopeSchema), call),
    report,
    saveReport: async (runId, file, call) => await writeFile(file, await report(runId, call)),
  }
}

const ARTIFACTS: { readonly [Key in ArtifactKey]: v.GenericSchema<unknown, ArtifactAnswers[Key]> } = ARTIFACT_ANSWERS

/** The last part of an artifact's path. @throws InvalidArgumentError for a name that is no artifact's */
function artifactPath(key: ArtifactKey): string {
  const kind = OUTCOME_KINDS.find(candidate => OUTCOMES[candidate].artifact?.key === key)
  const path = kind && OUTCOMES[kind].artifact?.path
  if (path === undefined) throw new InvalidArgumentError("There is no such artifact.")
  return path
}
