/** The client of a Runseal service: one function for each thing the service does. */
import type { JsonObject } from "@runseal/canonical"
import { publicationTokenSchema } from "@runseal/core/wire/key-requests"
import {
  type GenesisAnswer,
  genesisAnswerSchema,
  type KeyChangesAnswer,
  keyChangesAnswerSchema,
  type OutsideLogsAnswer,
  outsideLogsAnswerSchema,
  type WitnessesAnswer,
  witnessesAnswerSchema,
} from "@runseal/core/wire/log-answers"
import {
  type DcaeAnswer,
  type DeterminismAnswer,
  dcaeAnswerSchema,
  determinismAnswerSchema,
  type RunRecord,
  type RunsPage,
  runRecordSchema,
  runsPageSchema,
  type VerifyAnswer,
} from "@runseal/core/wire/run-summaries"
import {
  type HealthAnswer,
  healthAnswerSchema,
  type ReadyAnswer,
  readyAnswerSchema,
} from "@runseal/core/wire/service-answers"
import { type DsseEnvelope, dsseEnvelopeSchema } from "@runseal/log/entries/dsse"
import { type Checkpoint, parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { parseNote } from "@runseal/log/notes/signed-note"
import { parseTrust } from "@runseal/log/trust/trust-document"
import * as v from "valibot"
import { type Administration, administration } from "./administration.ts"
import { type AttestationCalls, attestationCalls } from "./attestation-calls.ts"
import { as, onceCall, query, received, runPath } from "./calls.ts"
import { InvalidArgumentError, ProtocolError, UnsupportedOperationError } from "./client-errors.ts"
import { type DeploymentCalls, deploymentCalls } from "./deployment-calls.ts"
import { type EventCalls, eventCalls } from "./event-calls.ts"
import type { Reply } from "./exchange.ts"
import type { ExecuteRequest } from "./execute-arguments.ts"
import { type ExecuteResult, readExecuteResult } from "./execute-result.ts"
import { type ExportCalls, exportCalls } from "./export-calls.ts"
import { listItems, type PageOptions, RUN_LISTING, type RunFilters, type RunList } from "./list-pages.ts"
import { type PermitCalls, permitCalls } from "./permit-calls.ts"
import { type PermittedActs, permittedActs } from "./permitted-act.ts"
import { jsonText } from "./plain-json.ts"
import { okObject, okText, type Received } from "./read-reply.ts"
import { type VersionAnswer, versionAnswerSchema } from "./run-answers.ts"
import { type RunReads, runReads, STATEMENT_FILE } from "./run-reads.ts"
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
  DeploymentCalls &
  EventCalls &
  PermittedActs & {
    /** Permits call by call; `permit` and `guard` make the calls in their order. */
    readonly permits: PermitCalls
  }

type RunCalls = RunReads & {
  /**
   * Sends a payload through the pipeline. Every outcome the service recorded is a result, also denied, halted and failed runs. Retried only under an
   * idempotency key, since each call makes a run. After a NetworkError, TimeoutError or AbortedError a run may exist: call again
   * with the same key, or search for it with `runs`.
   */
  readonly execute: (request: ExecuteRequest, options?: OnceOptions) => Promise<ExecuteResult>
  /** The same input twice under one pinned clock and nonce; nothing is stored, charged or anchored. */
  readonly verifyDeterminism: (request: ExecuteRequest, options?: CallOptions) => Promise<DeterminismAnswer>
  /** Another name of `verifyRun`. */
  readonly verify_run: (runId: number, options?: CallOptions) => Promise<VerifyAnswer>
  /** Rejects with UnsupportedOperationError and sends nothing: replaying a production run cannot reproduce its hash. */
  readonly verify: (...args: readonly unknown[]) => Promise<never>
  readonly run: (runId: number, options?: CallOptions) => Promise<RunRecord>
  /** The calling key's runs, newest first: `for await (const run of client.runs())`. Throws InvalidArgumentError at once. */
  readonly runs: (options?: PageOptions) => RunList
  /** As `runs`, for the runs that fit every filter given. */
  readonly search: (filters: RunFilters, options?: PageOptions) => RunList
  /** The bundle of a published run, read without a key. Caches may serve it for an hour after the publication ends. */
  readonly publicBundle: (token: string, options?: CallOptions) => Promise<Received<JsonObject>>
  /** The statement of a published run, read without a key. Cached as its bundle is. */
  readonly publicStatement: (token: string, options?: CallOptions) => Promise<Received<DsseEnvelope>>
  /** Verifies a document on the server, with the service's own trust document. The document is text or parsed JSON. */
  readonly dcaeVerify: (document: JsonObject | string, options?: CallOptions) => Promise<DcaeAnswer>
  readonly health: (options?: CallOptions) => Promise<HealthAnswer>
  /** Whether the service could seal now. Retried while it could not, and then rejects with the HttpStatusError of a 503. */
  readonly ready: (options?: CallOptions) => Promise<ReadyAnswer>
  readonly version: (options?: CallOptions) => Promise<VersionAnswer>
  /** The log's head as a C2SP signed note, unverified: compare it with a copy from elsewhere, or store it. */
  readonly logCheckpoint: (options?: CallOptions) => Promise<Received<Checkpoint>>
  /** Who cosigns the log, what each cosigned last, and why one does not, as the process knows them that answers. */
  readonly logWitnesses: (options?: CallOptions) => Promise<WitnessesAnswer>
  /** Which entries Rekor logs hold too, and what is on its way there. */
  readonly logOutside: (options?: CallOptions) => Promise<OutsideLogsAnswer>
  /** What entry 0 of the log signs: its keys at its birth. */
  readonly logGenesis: (options?: CallOptions) => Promise<GenesisAnswer>
  /** What the entries sign with which the log's keys changed, oldest first. */
  readonly logKeyChanges: (options?: CallOptions) => Promise<KeyChangesAnswer>
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
  const reads = runReads(send, runPath)
  const permits = permitCalls(send, settings)
  return {
    permits,
    ...permittedActs(permits, settings),
    ...attestationCalls(send, settings),
    ...exportCalls(settings),
    ...administration(send),
    ...deploymentCalls(send),
    ...eventCalls(send),
    ...reads,
    execute: async (request, call) =>
      await send(onceCall(settings, "/execute", jsonText(request), call), readExecuteResult, call),
    verifyDeterminism: async (request, call) => {
      const body = jsonText(request)
      const path = "/execute/verify-determinism"
      return await send({ path, body, repeatable: true }, as(determinismAnswerSchema), call)
    },
    verify_run: reads.verifyRun,
    verify: async () => {
      throw new UnsupportedOperationError(
        "A production run cannot be replayed to its hash: use verifyRun, or verifyBundle on the run's bundle.",
      )
    },
    run: async (runId, call) => await get(runPath(runId), as(runRecordSchema), call),
    runs: (pages = {}) => list("/runs", {}, pages),
    search: (filters, pages = {}) => list("/runs/search", filters, pages),
    publicBundle: async (token, call) => await getPublic(publicPath(token, "bundle.json"), okObject, call),
    publicStatement: async (token, call) =>
      await getPublic(publicPath(token, STATEMENT_FILE), received(dsseEnvelopeSchema), call),
    dcaeVerify: async (document, call) => {
      const body = typeof document === "string" ? document : jsonText(document)
      return await send({ path: "/dcae/verify", body, repeatable: true }, as(dcaeAnswerSchema), call)
    },
    health: call => getPublic("/health", as(healthAnswerSchema), call),
    ready: call => getPublic("/ready", as(readyAnswerSchema), call),
    version: call => getPublic("/version", as(versionAnswerSchema), call),
    logCheckpoint: call => getPublic("/log/checkpoint", readCheckpoint, call),
    logWitnesses: call => getPublic("/log/witnesses", as(witnessesAnswerSchema), call),
    logOutside: call => getPublic("/log/outside", as(outsideLogsAnswerSchema), call),
    logGenesis: call => getPublic("/log/genesis", as(genesisAnswerSchema), call),
    logKeyChanges: call => getPublic("/log/key-changes", as(keyChangesAnswerSchema), call),
    trust: call => getPublic("/.well-known/runseal-trust.json", readTrustDocument, call),
  }
}

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
