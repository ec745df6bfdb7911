/** What is read of one run: its check, its sealed documents, its report. docs/api.md, "GET /runs/{id}" and what follows. */
import type { JsonObject } from "@runseal/canonical"
import { jsonObjectSchema } from "@runseal/core/artifacts/json-object-schema"
import type { ArtifactKey } from "@runseal/core/vocabulary/outcomes"
import {
  ARTIFACT_ANSWERS,
  type ArtifactAnswers,
  type BundleAddition,
  type BundleForm,
  type ReportFormat,
  type VerifyAnswer,
} from "@runseal/core/wire/run-summaries"
import type { DsseEnvelope } from "@runseal/log/entries/dsse"
import * as v from "valibot"
import { as, callTo, received } from "./calls.ts"
import { InvalidArgumentError } from "./client-errors.ts"
import { methodOf, ROUTES } from "./endpoint-calls.ts"
import { writeFile } from "./local-files.ts"
import { okObject, okPdf, okZip, type Received } from "./read-reply.ts"
import type { CallOptions, Settings } from "./settings.ts"
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
  /** One file for an auditor, which `verifier` takes as it is: a ZIP of bundle, report, trust document and how to verify them. */
  readonly auditorZip: (runId: number, options?: CallOptions) => Promise<Uint8Array>
}

/** @param scope before the identifiers of the rows: none for the runs of the calling key, `admin_` for those of any key */
export function runReads(send: Send, settings: Settings, scope: "" | "admin_"): RunReads {
  const report: RunReads["report"] = async (runId, { format, ...call } = {}) =>
    await send(callTo(settings, ROUTES[`${scope}report`], { place: [runId], query: { format } }), okPdf, call)
  return {
    verifyRun: async (runId, call) =>
      await send(callTo(settings, ROUTES[`${scope}verify_run`], { place: [runId] }), as(verifyAnswerSchema), call),
    artifact: async (runId, key, call) => {
      if (!Object.hasOwn(ARTIFACT_ANSWERS, key)) throw new InvalidArgumentError("There is no such artifact.")
      const answer: v.GenericSchema<unknown, ArtifactAnswers[typeof key]> = ARTIFACTS[key]
      return await send(callTo(settings, ROUTES[`${scope}${key}`], { place: [runId] }), received(answer), call)
    },
    bundle: async (runId, { form, with: addition, ...call } = {}) => {
      const sent = { place: [runId], query: { form, with: addition } }
      return await send(callTo(settings, ROUTES[`${scope}artifacts`], sent), okObject, call)
    },
    statement: methodOf(send, settings, ROUTES[`${scope}run_statement`]),
    report,
    auditorZip: async (runId, call) =>
      await send(callTo(settings, ROUTES[`${scope}auditor_zip`], { place: [runId] }), okZip, call),
    saveReport: async (runId, file, call) => await writeFile(file, await report(runId, call)),
  }
}

const ARTIFACTS: { readonly [Key in ArtifactKey]: v.GenericSchema<unknown, ArtifactAnswers[Key]> } = ARTIFACT_ANSWERS

/** Members of this answer may be absent or null; null becomes absent. */
const withoutNulls = (answer: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== null))

const text = v.string()
const opt = v.exactOptional
const verifyAnswerSchema: v.GenericSchema<unknown, VerifyAnswer> = v.pipe(
  jsonObjectSchema,
  v.transform(withoutNulls),
  v.object({
    ok: v.literal(true),
    verified: v.boolean(),
    manifest_hash: text,
    recomputed_hash: opt(text),
    verification_at: opt(text),
    verification_kind: opt(v.picklist(["manifest-self-seal", "receipt-self-seal"])),
    formula_version: opt(text),
    dcae_engine_hint: opt(v.object({ available_at: text, engine_version: text })),
    reason: opt(text),
  }),
)
