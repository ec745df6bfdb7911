/** The client of a Runseal service: one function for each thing the service does. */
import type { JsonObject } from "@runseal/canonical"
import type { Shape } from "@runseal/core/vocabulary/scalars"
import { ATTESTED_ALGORITHM, type AttestRequest, attestationsPageSchema } from "@runseal/core/wire/attestation-requests"
import { eventSchema, type SealedEvent } from "@runseal/core/wire/event-messages"
import {
  type DcaeAnswer,
  type DeterminismAnswer,
  dcaeAnswerSchema,
  determinismAnswerSchema,
  runsPageSchema,
  type VerifyAnswer,
} from "@runseal/core/wire/run-summaries"
import { versionAnswerSchema as serviceVersionSchema } from "@runseal/core/wire/service-answers"
import { type Checkpoint, parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { parseNote } from "@runseal/log/notes/signed-note"
import { parseTrust } from "@runseal/log/trust/trust-document"
import * as v from "valibot"
import { as, callTo } from "./calls.ts"
import { ProtocolError, UnsupportedOperationError } from "./client-errors.ts"
import { type CallOf, type EndpointCalls, endpointCalls, methodOf, ROUTES } from "./endpoint-calls.ts"
import type { Reply } from "./exchange.ts"
import type { ExecuteRequest } from "./execute-arguments.ts"
import { type ExecuteResult, readExecuteResult } from "./execute-result.ts"
import { type ExportCalls, exportCalls } from "./export-calls.ts"
import { lenient } from "./lenient.ts"
import {
  ATTESTATION_LISTING,
  type AttestationList,
  listOf,
  type PageOptions,
  RUN_LISTING,
  type RunFilters,
  type RunList,
} from "./list-pages.ts"
import { type PermitCalls, permitCalls, permitOpening } from "./permit-calls.ts"
import { type PermittedActs, permittedActs } from "./permitted-act.ts"
import { checkShape, okObject, okText, parseObject, type Received } from "./read-reply.ts"
import { type RunReads, runReads } from "./run-reads.ts"
import { type CallOptions, type ClientOptions, type EndUserOption, type OnceOptions, readSettings } from "./settings.ts"
import { createTransport } from "./transport.ts"

/**
 * Every call rejects with a `RunsealError`: InvalidArgumentError before anything is sent, then NetworkError, TimeoutError,
 * AbortedError, ProtocolError, or an HttpStatusError of the answer's status. Calls that are safe to retry are retried.
 */
export type Client = EndpointCalls &
  OwnCalls &
  RunReads &
  ExportCalls &
  PermittedActs & {
    /** Permits call by call; `permit` and `guard` make the calls in their order. */
    readonly permits: PermitCalls
    /** Single runs and permits, whichever key they belong to: for admin keys and auditors. */
    readonly ofAnyKey: OfAnyKey
  }

/** An auditor of named keys is given theirs, and a NotFoundError for others. */
export type OfAnyKey = RunReads & {
  readonly run: CallOf<typeof ROUTES.admin_run>
  /** With its opening and its end. */
  readonly permit: CallOf<typeof ROUTES.admin_permit>
}

/** The arguments of an attestation; `algorithm` is `sha256` when absent. */
export type AttestArguments = Omit<AttestRequest, "algorithm"> & Partial<Pick<AttestRequest, "algorithm">>

/** Without members that only later services send. */
const versionAnswerSchema = v.omit(serviceVersionSchema, ["engine_version", "base_url"])
/** `GET /version`: the release, and the log and formula with which it seals. */
export type VersionAnswer = Shape<typeof versionAnswerSchema>

/** The calls of the client that need more than their rows say. */
type OwnCalls = {
  /**
   * Sends a payload through the pipeline. Every outcome the service recorded is a result, also denied, halted and failed runs. Retried only under an
   * idempotency key, since each call makes a run. After a NetworkError, TimeoutError or AbortedError a run may exist: call again
   * with the same key, or search for it with `runs`.
   */
  readonly execute: (request: ExecuteRequest, options?: OnceOptions & EndUserOption) => Promise<ExecuteResult>
  /** The same input twice under one pinned clock and nonce; nothing is stored, charged or anchored. */
  readonly verifyDeterminism: (
    request: ExecuteRequest,
    options?: CallOptions & EndUserOption,
  ) => Promise<DeterminismAnswer>
  /** Another name of `verifyRun`. */
  readonly verify_run: (runId: number, options?: CallOptions) => Promise<VerifyAnswer>
  /** Rejects with UnsupportedOperationError and sends nothing: replaying a production run cannot reproduce its hash. */
  readonly verify: (...args: readonly unknown[]) => Promise<never>
  /** The calling key's runs, newest first: `for await (const run of client.runs())`. Throws InvalidArgumentError at once. */
  readonly runs: (options?: PageOptions) => RunList
  /** As `runs`, for the runs that fit every filter given. */
  readonly search: (filters: RunFilters, options?: PageOptions) => RunList
  /**
   * Anchors a digest. Save `text`: `verifyBundle` and the command-line verifier verify it offline. Retried only
   * under an idempotency key, since each call makes an attestation. After a NetworkError, TimeoutError or AbortedError one may
   * exist: call again with the same key, or search for it with `attestations`.
   */
  readonly attest: (request: AttestArguments, options?: OnceOptions) => ReturnType<CallOf<typeof ROUTES.attest>>
  /** The calling key's attestations, newest first; each can be verified offline. Throws InvalidArgumentError at once. */
  readonly attestations: (options?: PageOptions) => AttestationList
  /** The bundle of a published run, read without a key. Caches may serve it for an hour after the publication ends. */
  readonly publicBundle: (token: string, options?: CallOptions) => Promise<Received<JsonObject>>
  /** Verifies a document on the server, with the service's own trust document. The document is text or parsed JSON. */
  readonly dcaeVerify: (document: JsonObject | string, options?: CallOptions) => Promise<DcaeAnswer>
  /**
   * What was sealed after a position, oldest first, at most `limit` events, 1 to 1,000; 100 when absent. The `position` of the last one is
   * the next `after`; no event: there is nothing new. A later service may send further types of events.
   */
  readonly events: (
    page?: { readonly after?: number | undefined; readonly limit?: number | undefined },
    options?: CallOptions,
  ) => Promise<readonly SealedEvent[]>
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
  const reads = runReads(send, settings, "")
  const openPermit = permitOpening(send, settings)
  const permits = permitCalls(send, settings, openPermit)
  const attest = methodOf(send, settings, ROUTES.attest)
  const service = { send, settings }
  return {
    ...endpointCalls(send, settings),
    permits,
    ofAnyKey: {
      ...runReads(send, settings, "admin_"),
      run: methodOf(send, settings, ROUTES.admin_run),
      permit: methodOf(send, settings, ROUTES.admin_permit),
    },
    ...permittedActs(permits, openPermit, settings),
    ...exportCalls(settings),
    ...reads,
    execute: async (request, call) =>
      await send(callTo(settings, ROUTES.execute, { body: request }, call), readExecuteResult, call),
    verifyDeterminism: async (request, call) =>
      await send(
        callTo(settings, ROUTES.verify_determinism, { body: request }, call),
        as(determinismAnswerSchema),
        call,
      ),
    verify_run: reads.verifyRun,
    verify: async () => {
      throw new UnsupportedOperationError(
        "A production run cannot be replayed to its hash: use verifyRun, or verifyBundle on the run's bundle.",
      )
    },
    runs: (pages = {}) => listOf(service, ROUTES.runs, runsPageSchema, RUN_LISTING, pages),
    search: (filters, pages = {}) =>
      listOf(service, ROUTES.search_runs, runsPageSchema, RUN_LISTING, { ...pages, filters }),
    attest: async (request, call) => await attest({ algorithm: ATTESTED_ALGORITHM, ...request }, call),
    attestations: (pages = {}) =>
      listOf(service, ROUTES.attestations, attestationsPageSchema, ATTESTATION_LISTING, pages),
    publicBundle: async (token, call) =>
      await send(callTo(settings, ROUTES.public_bundle, { place: [token] }), okObject, call),
    dcaeVerify: async (document, call) =>
      await send(callTo(settings, ROUTES.dcae_verify, { body: document }), as(dcaeAnswerSchema), call),
    events: async (page = {}, call) => await send(callTo(settings, ROUTES.events, { query: page }), readEvents, call),
    version: call => send(callTo(settings, ROUTES.version), as(versionAnswerSchema), call),
    logCheckpoint: call => send(callTo(settings, ROUTES.checkpoint), readCheckpoint, call),
    trust: call => send(callTo(settings, ROUTES.trust), readTrustDocument, call),
  }
}

/** One event a line. */
function readEvents(reply: Reply): readonly SealedEvent[] {
  const lines = okText(reply).split("\n")
  if (lines.pop() !== "") throw new ProtocolError("it ends within a line")
  return lines.map(line => checkShape(EVENT, parseObject(line)))
}
const EVENT = lenient(eventSchema)

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
