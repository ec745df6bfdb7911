/**
 * The telemetry of the service: every room reports its events here, and each event becomes a metric, a line of the process log, or both.
 * An event says what happened and why it failed. It holds no content of a request.
 */

import type { StageFailure } from "@runseal/core/seal/stage-failure"
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { DeliveryFault } from "@runseal/core/wire/delivery-messages"
import type { OutsideFault } from "@runseal/core/wire/log-answers"
import type { Logger } from "pino"
import type { LogRefusal as OutsideRefusal } from "./outbound/outbox/ask-log.ts"
import type { WitnessFault, WitnessRefusal } from "./outbound/witnessing/ask-witness.ts"
import { StoreError, type StoreErrorCode } from "./store/driver/store-errors.ts"

/** What a stage failed for. `run_id` is of the run that became a stage_error, and absent where it has no record. */
export type FailedFor = { readonly run_id?: number | undefined; readonly request_id?: string | undefined }

/** Logs a stage failure. */
export type ReportFault = (failure: StageFailure, failedFor?: FailedFor) => void

/** A route as it was registered, such as `GET /runs/:id`. */
export type Route = { readonly method: string; readonly path: string }

/** An answer as the access log has it: no path, query, address or body, which may hold what is secret or personal. */
type RequestAnswer = {
  readonly request_id: string
  readonly method: string
  /** As it was registered; undefined for what is no endpoint. */
  readonly route: Route | undefined
  readonly status: number
  /** From the request's head to the head of the answer, in milliseconds. */
  readonly ms: number
  /** 0 for the anonymous caller; undefined for a person, and before authentication. */
  readonly key_id: number | undefined
}

/** What is sealed besides runs: the metric that counts each, and what it says of itself. */
export const METERED_DOCUMENTS = {
  attestation: ["runseal_attestations_total", "Attestations anchored and acknowledged."],
  opening: ["runseal_permits_total", "Permits opened and acknowledged."],
  approval_request: ["runseal_approval_requests_total", "Requests for an approval that were sealed."],
  redemption: ["runseal_permit_redemptions_total", "Permits redeemed: each is an entry of the log."],
  permit_end: ["runseal_permit_ends_total", "Documents sealed that end permits without a close."],
  admin_event: ["runseal_admin_events_total", "Actions of administrators, sealed."],
} as const
export type MeteredDocument = keyof typeof METERED_DOCUMENTS

/** What is counted: the metrics. */
export type Counters = {
  /** A request was answered; undefined for what is no endpoint. */
  readonly answered: (route: Route | undefined, status: number) => void
  /** A document is durable and acknowledged; seconds since it entered the queue of the sealer. */
  readonly sealed: (kind: OutcomeKind | MeteredDocument, seconds: number) => void
  /** A batch of so many records was committed. */
  readonly committed: (records: number) => void
  /**
   * Where a batch is built: before the lock of the log's head, behind it, or `again` behind it, because what it was built on before it was no
   * longer true.
   */
  readonly built: (place: "ahead" | "locked" | "again") => void
  /** A batch held the lock of the log's head for so many seconds: nobody else could seal meanwhile. */
  readonly lockHeld: (seconds: number) => void
  /** A batch was not committed, and everything in it refused. */
  readonly batchFailed: () => void
  /** A signature or record that was committed does not verify. */
  readonly signatureWrong: () => void
  /** Where something sealed was read, on a deployment with a read standby; "both": the standby did not have it, or failed. */
  readonly readFrom: (servers: "standby" | "primary" | "both") => void
  /** A request was refused because a limit was reached. */
  readonly limited: (limit: "shared" | "attest" | "permits" | "sessions" | "trial") => void
  /** A witness cosigned a tree of so many entries, at this time by its clock (Unix seconds). */
  readonly cosigned: (witness: string, size: number, time: number) => void
  readonly notCosigned: (witness: string, fault: WitnessFault) => void
  /** Enough witnesses cosigned a tree of so many entries. */
  readonly witnessed: (size: number) => void
  /** The outside log took an entry. @param late whether that was more than 600 s after the embedded log took it */
  readonly entered: (late: boolean) => void
  readonly notEntered: (fault: OutsideFault) => void
  /** A receiver took so many events. */
  readonly eventsDelivered: (destination_id: number, events: number) => void
  /** A receiver did not take an event. */
  readonly eventNotDelivered: (destination_id: number, fault: DeliveryFault) => void
  /** Spans of OpenTelemetry were received: sealed now or before, of another kind, or refused. */
  readonly spansReceived: (fate: "sealed" | "repeated" | "other" | "unknown" | "rejected", spans: number) => void
  /** Spans of this service's own traces were exported, not taken by the collector, or dropped because the queue was full. */
  readonly ownSpans: (fate: "exported" | "failed" | "dropped", spans: number) => void
}

/** Events that become a line of the process log; some are counted too. */
export type Lines = {
  /** A request was answered: a line of the access log, where there is one. */
  readonly answered: (answer: RequestAnswer) => void
  /** A request ended in an unexpected failure: a 500. */
  readonly requestFailed: (error: unknown, request_id: string, route: Route | undefined) => void
  /** The record store failed a request. */
  readonly storeFailed: (error: StoreError) => void
  /** A client spoke another protocol than HTTP/1.1, or expected what cannot be met. @param sentence says which, and what to do */
  readonly clientMisfit: (sentence: string) => void
  readonly stageFailed: ReportFault
  /** A batch of so many records was not committed. */
  readonly batchFailed: (error: unknown, records: number) => void
  readonly committed: (records: number) => void
  /** What was committed does not verify: a signature, by its key and the SHA-256 of its message, or a record, by what its verifier says. */
  readonly signatureWrong: (
    found: { readonly role: string; readonly message: string } | { readonly objection: string },
  ) => void
  /** What the last process may not have verified was not verified after the start either. */
  readonly recentNotVerified: (error: unknown) => void
  /** A policy is in force. @param passedOver the file of `--policy` was in force before and is not again */
  readonly policyChanged: (policy: PolicyFacts, passedOver: boolean) => void
  /** Which policy is in force was not read; that is tried again. */
  readonly policyNotRead: (error: unknown) => void
  /** The file of `--policy` was not loaded again. @param reason why */
  readonly policyRefused: (reason: string) => void
  /** Due permits were not ended; that is tried again. */
  readonly permitsNotEnded: (error: unknown) => void
  /** Requests for an approval that are over were not ended. */
  readonly approvalsNotEnded: (error: unknown) => void
  /** Admin events were not sealed; that is tried again. */
  readonly eventsNotSealed: (error: unknown) => void
  /** An export ended before its last line. */
  readonly exportCut: (error: unknown) => void
  /** Why nothing is sealed: the database lacks records that the head files beside the keys remember. Undefined: it holds them all. */
  readonly headsHeld: (trouble: string | undefined) => void
  /** A log was made with keys that were there already. @param log its origin */
  readonly anotherLog: (log: string) => void
  /** The read standby is used, or is not. @param reason why not */
  readonly standbyChanged: (reason: string | undefined) => void
  /** Readiness changed. @param reason why no run can be sealed; undefined: one can */
  readonly readyChanged: (reason: string | undefined) => void
  /** The signer of the service key signs again, or does not. @param cause why not */
  readonly signerChanged: (signs: boolean, cause?: unknown) => void
  /** The identity provider is of use again, or is not. @param failure why not */
  readonly identityProviderChanged: (failure: Error | undefined) => void
  /** The identity provider did not answer, or what it answered signs nobody in. */
  readonly signInFailed: (error: unknown) => void
  /** The time of a key's last use was not written. */
  readonly keyUseLost: (error: unknown) => void
  /** A witness that had failed cosigns. */
  readonly witnessBack: (witness: string) => void
  /** @param log_size entries of the tree that it was asked to cosign */
  readonly notCosigned: (witness: string, refusal: WitnessRefusal, log_size: number) => void
  /** A round of witnesses was given up. */
  readonly roundFailed: (error: unknown) => void
  /** An outside log that had failed takes entries. */
  readonly outsideBack: (outside_log: string, log_index: number) => void
  readonly notEntered: (outside_log: string, log_index: number, refusal: OutsideRefusal) => void
  /** A delivery to an outside log was given up. */
  readonly deliveryFailed: (error: unknown) => void
  /** @param isFirst whether the delivery before it succeeded */
  readonly eventNotDelivered: (destination_id: number, fault: DeliveryFault, isFirst: boolean) => void
  /** A receiver that had failed takes events. */
  readonly receiverBack: (destination_id: number) => void
  /** Nothing was delivered to a destination because of a failure in this service. */
  readonly deliveriesFailed: (error: unknown) => void
  /** The collector of traces takes spans again, or takes none. */
  readonly collectorChanged: (takes: boolean) => void
}

/** What the process log says of a policy. */
export type PolicyFacts = {
  readonly version: number
  readonly policy_id: string
  readonly policy_hash: string
  readonly source: string
}

export type Telemetry = Omit<Counters, keyof Lines> & Lines

const ignore = (): void => undefined
/** Nothing is counted. */
const UNCOUNTED: Counters = {
  answered: ignore,
  sealed: ignore,
  committed: ignore,
  built: ignore,
  lockHeld: ignore,
  batchFailed: ignore,
  signatureWrong: ignore,
  readFrom: ignore,
  limited: ignore,
  cosigned: ignore,
  notCosigned: ignore,
  witnessed: ignore,
  entered: ignore,
  notEntered: ignore,
  eventsDelivered: ignore,
  eventNotDelivered: ignore,
  spansReceived: ignore,
  ownSpans: ignore,
}

/** The process log. */
export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">

type TelemetryParts = {
  readonly logger: Log
  readonly counters?: Counters | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Whether each answer has a line. */
  readonly accessLog?: boolean
}

export function createTelemetry({ logger, counters = UNCOUNTED, nowMs, accessLog }: TelemetryParts): Telemetry {
  return {
    ...counters,
    answered: ({ request_id, method, route, status, ms, key_id }) => {
      counters.answered(route, status)
      if (accessLog !== true) return
      const duration_ms = Math.round(ms * 1000) / 1000
      logger.info({ request_id, method, route: route?.path, status, duration_ms, key_id }, "answered")
    },
    requestFailed: (err, request_id, route) =>
      logger.error({ err, request_id, method: route?.method, route: route?.path }, "request failed"),
    storeFailed: openStoreFailures(logger, nowMs),
    clientMisfit: openMisfits(logger, nowMs),
    stageFailed: ({ fault, cause }, failedFor) =>
      logger.error({ ...failedFor, stage: fault.stage, err: cause }, fault.message),
    ...openBatches(logger, counters),
    signatureWrong: found => {
      counters.signatureWrong()
      const facts =
        "objection" in found ? { objection: found.objection } : { key: found.role, message_sha256: found.message }
      logger.error(
        facts,
        "what was sealed does not verify: nothing is ready until the cause is known and the service started again",
      )
    },
    recentNotVerified: err => logger.error({ err }, "what was sealed last before the start was not verified again"),
    policyChanged: ({ version, policy_id, policy_hash, source }, passedOver) => {
      const facts = { version, policy_id, policy_hash, source }
      if (passedOver)
        logger.warn(
          facts,
          "the file of --policy was in force before this policy and is passed over: send SIGHUP to put it in force again",
        )
      else logger.info(facts, "the policy in force")
    },
    policyNotRead: err => logger[levelOf(err)]({ err }, "which policy is in force was not read"),
    policyRefused: reason =>
      logger.error({ reason }, "the file of --policy is not in force: the policy of before stays"),
    eventsNotSealed: err => logger[levelOf(err)]({ err }, "admin events were not sealed"),
    permitsNotEnded: err => logger[levelOf(err)]({ err }, "due permits were not ended"),
    approvalsNotEnded: err => logger[levelOf(err)]({ err }, "requests for an approval that are over were not ended"),
    exportCut: err => logger.error({ err }, "an export was cut off"),
    headsHeld: trouble =>
      trouble === undefined
        ? logger.info("the database holds all that is remembered beside the keys")
        : logger.error({ trouble }, "nothing is sealed"),
    anotherLog: log =>
      logger.warn(
        { log },
        "signing keys were there and the database is empty: this start begins another log with these keys. If they have a log, stop now and give its database",
      ),
    standbyChanged: reason =>
      reason === undefined
        ? logger.info("the read standby is used")
        : logger.warn({ reason }, "the read standby is not used: the primary is asked"),
    readyChanged: reason => (reason === undefined ? logger.info("ready again") : logger.warn({ reason }, "not ready")),
    signerChanged: (signs, err) =>
      signs
        ? logger.info("the signer signs again")
        : logger.warn({ err }, "the signer gives no signature, and nothing can be sealed"),
    identityProviderChanged: failure =>
      failure === undefined
        ? logger.info("the identity provider gives its keys again")
        : logger.warn(
            `the identity provider ${failure.message} Requests with the token of an end user are refused where its key is not known`,
          ),
    signInFailed: err => logger.warn({ err }, "a sign-in with the identity provider failed"),
    keyUseLost: err => logger.warn({ err }, "the last use of a key was not noted"),
    ...reportOutbound(logger, counters),
  }
}

/** Most lines on causes between two batches that are sealed. */
const CAUSES_MAX = 16

/** What an error and its causes say, to tell causes apart; it is not logged. */
const causeOf = (error: unknown, depth = 0): string =>
  error instanceof Error && depth < 4 ? `${error.name}: ${error.message}\n${causeOf(error.cause, depth + 1)}` : ""

/** Batches that fail are one line for each cause, and one when a batch is sealed again, however many there were. */
function openBatches(logger: Log, counters: Counters): Pick<Telemetry, "batchFailed" | "committed"> {
  let refused = 0
  const causes = new Set<string>()
  return {
    batchFailed: (err, records) => {
      counters.batchFailed()
      refused += records
      const cause = causeOf(err)
      if (causes.has(cause) || causes.size === CAUSES_MAX) return
      causes.add(cause)
      logger.error({ err }, "a batch was not sealed")
    },
    committed: records => {
      counters.committed(records)
      if (refused > 0) logger.info({ refused }, "batches are sealed again")
      refused = 0
      causes.clear()
    },
  }
}

/** Of each kind at most one line in so long a time, however many requests meet it, in milliseconds. */
export const STORE_LINE_EVERY_MS = 10_000

/**
 * The first of a kind is written at once; those that follow within the time are counted in the next line.
 * @param write is given how many of the kind there were since the last line
 */
function sparingly<Kind>(nowMs: () => number): (kind: Kind, write: (requests: number) => void) => void {
  const kinds = new Map<Kind, { readonly at: number; unwritten: number }>()
  return (kind, write) => {
    const now = nowMs()
    const known = kinds.get(kind)
    if (known !== undefined && Math.abs(now - known.at) < STORE_LINE_EVERY_MS) {
      known.unwritten++
      return
    }
    write(1 + (known?.unwritten ?? 0))
    kinds.set(kind, { at: now, unwritten: 0 })
  }
}

/** A line has the SQLSTATE, and nothing of the request or the statement. */
function openStoreFailures(logger: TelemetryParts["logger"], nowMs: () => number): Telemetry["storeFailed"] {
  const once = sparingly<StoreErrorCode>(nowMs)
  return ({ code, sqlstate }) =>
    once(code, requests => logger.warn({ code, sqlstate, requests }, "the record store failed requests"))
}

/** Its kinds are the sentences, of which there are few. */
function openMisfits(logger: TelemetryParts["logger"], nowMs: () => number): Telemetry["clientMisfit"] {
  const once = sparingly<string>(nowMs)
  return sentence => once(sentence, requests => logger.warn({ requests }, sentence))
}

/** Whether a run could be sealed now. */
export type Readiness =
  /** `checked_at` in milliseconds since the epoch. */
  | { readonly ready: true; readonly log_size: number; readonly checked_at: number }
  | { readonly ready: false; readonly reason: string; readonly checked_at: number }

// What the process log says of witnesses, outside logs, receivers of events and the collector of traces.

const NOT_COSIGNED: { readonly [fault in WitnessFault]: string } = {
  unreachable: "a witness did not answer in time",
  refused: "a witness refused the checkpoint",
  invalid: "a witness gave an answer outside its protocol, or a cosignature that does not verify",
  contradicted:
    "a witness has cosigned what is not the past of this log: the database is an older copy or was forked, or the witness is wrong",
}

const NOT_ENTERED: { readonly [fault in OutsideFault]: string } = {
  unreachable: "the outside log did not answer in time",
  limited: "the outside log asks for fewer requests",
  failed: "the outside log failed",
  refused: "the outside log refuses an entry: nothing after it is delivered until it takes it",
  untimed: "the timestamp authority gave no timestamp that verifies: nothing is delivered until it does",
  invalid: "the outside log gave an answer outside its API, or an entry that does not verify: the answer is discarded",
}

/** A failure of the database is debug here: the requests that it fails report it already. */
const levelOf = (error: unknown): "debug" | "error" => (error instanceof StoreError ? "debug" : "error")

type OutboundEvents = Pick<
  Lines,
  | "witnessBack"
  | "notCosigned"
  | "roundFailed"
  | "outsideBack"
  | "notEntered"
  | "deliveryFailed"
  | "eventNotDelivered"
  | "receiverBack"
  | "deliveriesFailed"
  | "collectorChanged"
>

function reportOutbound(logger: Log, counters: Counters): OutboundEvents {
  return {
    witnessBack: witness => logger.info({ witness }, "a witness cosigns again"),
    notCosigned: (witness, refusal, log_size) => {
      counters.notCosigned(witness, refusal.fault)
      const level = refusal.fault === "contradicted" ? "error" : "warn"
      logger[level]({ witness, ...refusal, log_size }, NOT_COSIGNED[refusal.fault])
    },
    roundFailed: err => logger[levelOf(err)]({ err }, "the witnesses were not asked"),
    outsideBack: (outside_log, log_index) =>
      logger.info({ outside_log, log_index }, "the outside log takes entries again"),
    notEntered: (outside_log, log_index, { retryAfterMs: _, ...refusal }) => {
      counters.notEntered(refusal.fault)
      const level = refusal.fault === "refused" || refusal.fault === "invalid" ? "error" : "warn"
      logger[level]({ outside_log, log_index, ...refusal }, NOT_ENTERED[refusal.fault])
    },
    deliveryFailed: err => logger[levelOf(err)]({ err }, "nothing was delivered to the outside log"),
    eventNotDelivered: (destination_id, fault, isFirst) => {
      counters.eventNotDelivered(destination_id, fault)
      if (isFirst) logger.warn({ destination_id, fault }, "a receiver takes no events: they wait until it does")
    },
    receiverBack: destination_id => logger.info({ destination_id }, "a receiver takes events again"),
    deliveriesFailed: err => logger[levelOf(err)]({ err }, "events were not delivered"),
    collectorChanged: takes =>
      takes
        ? logger.info("the collector of traces takes spans again")
        : logger.warn("the collector of traces takes no spans: they are lost, and nothing else is"),
  }
}
