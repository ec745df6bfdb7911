/** The client of a Runseal service: one function for each thing the service does. */
import type { JsonObject } from "@runseal/canonical"
import { type ArtifactKey, OUTCOME_KINDS, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import { publicationTokenSchema } from "@runseal/core/wire/key-requests"
import {
  ARTIFACT_ANSWERS,
  type ArtifactAnswers,
  BUNDLE_FORMS,
  type BundleForm,
  type DcaeAnswer,
  type DeterminismAnswer,
  dcaeAnswerSchema,
  determinismAnswerSchema,
  REPORT_FORMATS,
  type ReportFormat,
  type RunRecord,
  type RunsPage,
  runRecordSchema,
  runsPageSchema,
  type VerifyAnswer,
} from "@runseal/core/wire/run-summaries"
import { type HealthAnswer, healthAnswerSchema } from "@runseal/core/wire/service-answers"
import { type DsseEnvelope, dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import { type Checkpoint, parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { parseNote } from "@runseal/log/notes/signed-note"
import { parseTrust } from "@runseal/log/trust/trust-document"
import * as v from "valibot"
import { type Administration, administration } from "./administration.ts"
import { type AttestationCalls, attestationCalls } from "./attestation-calls.ts"
import { as, onceCall, query, received, runPath } from "./calls.ts"
import { InvalidArgumentError, ProtocolError, UnsupportedOperationError } from "./client-errors.ts"
import { type EventCalls, eventCalls } from "./event-calls.ts"
import type { Reply } from "./exchange.ts"
import type { ExecuteRequest } from "./execute-arguments.ts"
import { type ExecuteResult, readExecuteResult } from "./execute-result.ts"
import { type ExportCalls, exportCalls } from "./export-calls.ts"
import { lenient } from "./lenient.ts"
import { listItems, type PageOptions, RUN_LISTING, type RunFilters, type RunList } from "./list-pages.ts"
import { writeFile } from "./local-files.ts"
import { type PermitCalls, permitCalls } from "./permit-calls.ts"
import { type PermittedActs, permittedActs } from "./permitted-act.ts"
import { jsonText } from "./plain-json.ts"
import { okObject, okPdf, okText, type Received } from "./read-reply.ts"
import { type VersionAnswer, verifyAnswerSchema, versionAnswerSchema } from "./run-answers.ts"
import { type CallOptions, type ClientOptions, type OnceOptions, readSettings } from "./settings.ts"
import { createTransport } from "./transport.ts"

/**
 * Every call rejects with a `RunsealError`: InvalidArgumentError before anything is sent, then NetworkError, TimeoutError,
 * AbortedError, ProtocolError, or an HttpStatusError of the answer's status. Calls that are safe to retry are retried.
 */
export type Client = RunCalls &
  ExportCalls &
  AttestationCalls &
  Administration &
  EventCalls &
  PermittedActs & {
    /** Permits call by call; `permit` and `guard` make the calls in their order. */
    readonly permits: PermitCalls
  }

/** `form` is sealed by default. */
export type BundleOptions = CallOptions & { readonly form?: BundleForm }
/** `format` is comprehensive by default. */
export type ReportOptions = CallOptions & { readonly format?: ReportFormat }

type RunCalls = {
  /**
   * Executes a payload. Every outcome the service recorded is a result, also denied, halted and failed runs. Retried only under an
   * idempotency key, since each call makes a run. After a NetworkError, TimeoutError or AbortedError a run may exist: call again
   * with the same key, or search for it with `runs`.
   */
  readonly execute: (request: ExecuteRequest, options?: OnceOptions) => Promise<ExecuteResult>
  /** The same input twice under one pinned clock and nonce; nothing is stored, charged or anchored. */
  readonly verifyDeterminism: (request: ExecuteRequest, options?: CallOptions) => Promise<DeterminismAnswer>
  /** The server's self-check of a run's seal. Evidence for third parties is `bundle` with `verifyBundle`. */
  readonly verifyRun: (runId: number, options?: CallOptions) => Promise<VerifyAnswer>
  /** Another name of `verifyRun`. */
  readonly verify_run: (runId: number, options?: CallOptions) => Promise<VerifyAnswer>
  /** Rejects with UnsupportedOperationError and sends nothing: replaying a production run cannot reproduce its hash. */
  readonly verify: (...args: readonly unknown[]) => Promise<never>
  readonly run: (runId: number, options?: CallOptions) => Promise<RunRecord>
  /** The calling key's runs, newest first: `for await (const run of client.runs())`. Throws InvalidArgumentError at once. */
  readonly runs: (options?: PageOptions) => RunList
  /** As `runs`, for the runs that fit every filter given. */
  readonly search: (filters: RunFilters, options?: PageOptions) => RunList
  /** A run's allow token or receipt; NotFoundError when the run ended in another state. */
  readonly artifact: <Key extends ArtifactKey>(
    runId: number,
    key: Key,
    options?: CallOptions,
  ) => Promise<Received<ArtifactAnswers[Key]>>
  /**
   * A run's audit bundle, unverified: pass `text` to `verifyBundle`, or save it. As it was sealed, or with `form: "full"` with every
   * section written out.
   */
  readonly bundle: (runId: number, options?: BundleOptions) => Promise<Received<JsonObject>>
  /** A run's in-toto statement in its DSSE envelope, unverified; NotFoundError for a stage_error. */
  readonly statement: (runId: number, options?: CallOptions) => Promise<Received<DsseEnvelope>>
  /** A run's audit report as a PDF, which contains the bundle: `verifier report.pdf` verifies it offline. */
  readonly report: (runId: number, options?: ReportOptions) => Promise<Uint8Array>
  /** `report`, written to a file, which is replaced if it exists. Node 20.16 and later. */
  readonly saveReport: (runId: number, file: string, options?: ReportOptions) => Promise<void>
  /** The bundle of a published run, read without a key. Caches may serve it for an hour after the publication ends. */
  readonly publicBundle: (token: string, options?: CallOptions) => Promise<Received<JsonObject>>
  /** The statement of a published run, read without a key. Cached as its bundle is. */
  readonly publicStatement: (token: string, options?: CallOptions) => Promise<Received<DsseEnvelope>>
  /** Verifies a document on the server, with the service's own trust document. The document is text or parsed JSON. */
  readonly dcaeVerify: (document: JsonObject | string, options?: CallOptions) => Promise<DcaeAnswer>
  readonly health: (options?: CallOptions) => Promise<HealthAnswer>
  readonly version: (options?: CallOptions) => Promise<VersionAnswer>
  /** The log's head as a C2SP signed note, unverified: compare it with a copy from elsewhere, or store it. */
  readonly logCheckpoint: (options?: CallOptions) => Promise<Received<Checkpoint>>
  /** The service's trust document. Only the address authenticates it: confirm its keys another way before use. */
  readonly trust: (options?: CallOptions) => Promise<Received<JsonObject>>
}

/**
 * `createClient()` takes address and key from the variables `RUNSEAL_URL` and `RUNSEAL_API_KEY`.
 * @throws InvalidArgumentError for an option out of its bounds, or when there is no address
 */
export function createClient(options: ClientOptions = {}): Client {
  const settings = readSettings(options)
  const send = createTransport(settings)

  const get = <T>(path: string, read: (reply: Reply) => T, call?: CallOptions): Promise<T> =>
    send({ path, repeatable: true }, read, call)
  const getPublic = <T>(path: string, read: (reply: Reply) => T, call?: CallOptions): Promise<T> =>
    send({ path, repeatable: true, public: true }, read, call)
  const list = (path: string, filters: RunFilters, options: PageOptions): RunList => {
    const page = (limit: number, offset: number): Promise<RunsPage> =>
      get(path + query({ ...filters, limit, offset }), as(runsPageSchema), options)
    return listItems(RUN_LISTING, page, options)
  }
  const report: Client["report"] = async (runId, { format, ...call } = {}) => {
    if (format !== undefined && !REPORT_FORMATS.includes(format))
      throw new InvalidArgumentError(`A report's format is one of ${REPORT_FORMATS.join(", ")}.`)
    return await get(`${runPath(runId)}/report.pdf${format === undefined ? "" : query({ format })}`, okPdf, call)
  }
  const verifyRun: Client["verifyRun"] = async (runId, call) =>
    await get(`${runPath(runId)}/verify`, as(verifyAnswerSchema), call)

  const permits = permitCalls(send, settings)
  return {
    permits,
    ...permittedActs(permits, settings),
    ...attestationCalls(send, settings),
    ...exportCalls(settings),
    ...administration(send),
    ...eventCalls(send),
    execute: async (request, call) =>
      await send(onceCall(settings, "/execute", jsonText(request), call), readExecuteResult, call),
    verifyDeterminism: async (request, call) => {
      const body = jsonText(request)
      const path = "/execute/verify-determinism"
      return await send({ path, body, repeatable: true }, as(determinismAnswerSchema), call)
    },
    verifyRun,
    verify_run: verifyRun,
    verify: async () => {
      throw new UnsupportedOperationError(
        "A production run cannot be replayed to its hash: use verifyRun, or verifyBundle on the run's bundle.",
      )
    },
    run: async (runId, call) => await get(runPath(runId), as(runRecordSchema), call),
    runs: (pages = {}) => list("/runs", {}, pages),
    search: (filters, pages = {}) => list("/runs/search", filters, pages),
    artifact: async (runId, key, call) =>
      await get(`${runPath(runId)}/${artifactPath(key)}`, received(lenient(ARTIFACTS[key])), call),
    bundle: async (runId, { form, ...call } = {}) => {
      if (form !== undefined && !BUNDLE_FORMS.includes(form))
        throw new InvalidArgumentError(`A bundle's form is one of ${BUNDLE_FORMS.join(", ")}.`)
      return await get(`${runPath(runId)}/artifacts${form === undefined ? "" : query({ form })}`, okObject, call)
    },
    report,
    saveReport: async (runId, file, call) => await writeFile(file, await report(runId, call)),
    statement: async (runId, call) =>
      await get(`${runPath(runId)}/${STATEMENT_FILE}`, received(dsseEnvelopeSchema), call),
    publicBundle: async (token, call) => await getPublic(publicPath(token, "bundle.json"), okObject, call),
    publicStatement: async (token, call) =>
      await getPublic(publicPath(token, STATEMENT_FILE), received(dsseEnvelopeSchema), call),
    dcaeVerify: async (document, call) => {
      const body = typeof document === "string" ? document : jsonText(document)
      return await send({ path: "/dcae/verify", body, repeatable: true }, as(dcaeAnswerSchema), call)
    },
    health: call => getPublic("/health", as(healthAnswerSchema), call),
    version: call => getPublic("/version", as(versionAnswerSchema), call),
    logCheckpoint: call => getPublic("/log/checkpoint", readCheckpoint, call),
    trust: call => getPublic("/.well-known/runseal-trust.json", readTrustDocument, call),
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

const STATEMENT_FILE = "statement.intoto.json"

function publicPath(token: string, file: string): string {
  if (!v.is(publicationTokenSchema, token)) throw new InvalidArgumentError("A token is 32 lowercase hex digits.")
  return `/public/runs/${token}/${file}`
}

function readCheckpoint(reply: Reply): Received<Checkpoint> {
  const text = okText(reply)
  const note = parseNote(text)
  const document = note && parseCheckpoint(note.text)
  if (document === undefined) throw new ProtocolError("it is no signed checkpoint")
  return { document, text }
}

function readTrustDocument(reply: Reply): Received<JsonObject> {
  const trust = okObject(reply)
  if ("problem" in parseTrust(trust.document)) throw new ProtocolError("it is no trust document to rely on")
  return trust
}
