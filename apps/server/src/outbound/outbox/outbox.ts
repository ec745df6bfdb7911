/** Delivers every entry to the outside log in the background. A request waits for it in sync mode only, with a timeout. */
import { randomUUID } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import { canonicalize, encodeBase64, utf8Encode } from "@runseal/canonical"
import type { OutsideEntry } from "@runseal/core/artifacts/anchor"
import { MAX_OUTSIDE_LOGS } from "@runseal/core/artifacts/bundle-schema"
import { timeOfOutside } from "@runseal/core/verify/outside"
import { LOG_TIME_TOLERANCE_SECONDS } from "@runseal/core/vocabulary/scalars"
import type { OutsideStanding } from "@runseal/core/wire/log-answers"
import { entryPlaceProblem } from "@runseal/log/entries/check-entry"
import { tiledEntryProblem } from "@runseal/log/entries/check-tiled-entry"
import type { TiledLogEntry } from "@runseal/log/entries/log-entry"
import { isRekorUuid, parseRekorAnswer, REKOR_V1_ENTRIES } from "@runseal/log/entries/rekor-v1"
import {
  heldEntry,
  indexOfDuplicate,
  parseRekorV2Answer,
  REKOR_V2_ENTRIES,
  REKOR_V2_READ,
  rekorV2Request,
  signatureIn,
  sizeOfCheckpoint,
  tiledBody,
} from "@runseal/log/entries/rekor-v2"
import { buildInclusionProof, tilePath } from "@runseal/log/merkle/tiles"
import { followed } from "../../followed-steps.ts"
import { StartupError } from "../../options/startup-error.ts"
import type { AnchorMode } from "../../options/table.ts"
import type { Database } from "../../store/driver/database.ts"
import { readEntries, readHead } from "../../store/tables/log-store.ts"
import {
  endLease,
  keepOutside,
  leaseOutside,
  listOutsideLogs,
  nameOutsideLog,
  noteOutsideFault,
} from "../../store/tables/outside-log-table.ts"
import type { Telemetry } from "../../telemetry.ts"
import type { HttpAnswer } from "../ask.ts"
import {
  askLog,
  askTimestamp,
  type Entered,
  type LogRefusal,
  refusalOf,
  TIMESTAMP_DEADLINE_MS,
  type TimestampSource,
} from "./ask-log.ts"
import { readStanding } from "./delivery-state.ts"
import { authorityRow, type OutsideLog } from "./outside-log.ts"

/** Between two polls of the log, which other processes may grow or deliver, in milliseconds. */
const LOG_POLL_MS = 2000
/** Between two polls for all requests that wait, in milliseconds. */
const WAITING_POLL_MS = 250
/** Requests that wait at one time; a further one gets its answer at once. */
const SYNC_WAITING_MAX = 4096

export type OutboxContext = {
  readonly db: Database
  readonly log: OutsideLog
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  readonly telemetry: DeliveryContext["telemetry"] & Pick<Telemetry, "deliveryFailed">
}

export type Outbox = {
  readonly log: OutsideLog
  /** The embedded log has grown. */
  readonly wake: () => void
  /**
   * Waits in sync mode. True when the outside log holds the entry, or never will because the entry is older than the log's first start.
   * False when the timeout passed.
   */
  readonly untilPassed: (logIndex: number) => Promise<boolean>
  readonly standing: () => Promise<OutsideStanding | undefined>
  /** Ends requests under way; after the next start their entries are found in the outside log. */
  readonly close: () => Promise<void>
}

/**
 * Lists the log in the database and starts to deliver.
 * @throws StoreError, StartupError when there are too many, or when the log holds entries under another host
 */
export async function openOutbox(context: OutboxContext): Promise<Outbox> {
  const { db, log } = context
  const { logId, spki, validFrom } = log.key
  await nameOutsideLog(db, { log_id: logId, host: log.host, spki: encodeBase64(spki), valid_from: validFrom })
  const named = await listOutsideLogs(db)
  const before = named.find(({ log_id }) => log_id === logId)?.host
  if (before !== log.host)
    throw new StartupError(`--rekor-origin: this log holds entries as ${before}, and cannot be called ${log.host}.`)
  if (named.length > MAX_OUTSIDE_LOGS)
    throw new StartupError(
      `--anchor rekor: a deployment enters its records in ${MAX_OUTSIDE_LOGS} outside logs at most.`,
    )
  // The embedded database has one process at a time, so a lease found at a start is that of a process that is gone.
  const holder = db.kind === "postgres" ? randomUUID() : "this process"
  const delivery = openDelivery({ ...context, holder, random: Math.random })
  const stop = new AbortController()
  let wakeUp = new AbortController()
  /** Every entry before this index is in the outside log, or is older than the log's first start. */
  let nextIndex = 0

  const deliverUntilStopped = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const stopOrWake = AbortSignal.any([stop.signal, wakeUp.signal])
      try {
        const round = await delivery.playRound(stop.signal)
        if (round === "elsewhere") await pause(LOG_POLL_MS, stop.signal)
        else {
          nextIndex = Math.max(nextIndex, round.next_index)
          if ("wait_ms" in round) await pause(round.wait_ms, stop.signal)
          else if (!round.more) await pause(LOG_POLL_MS, stopOrWake)
        }
      } catch (error) {
        context.telemetry.deliveryFailed(error)
        await pause(LOG_POLL_MS, stop.signal)
      }
      if (wakeUp.signal.aborted) wakeUp = new AbortController()
    }
    await endLease(db, logId, holder).catch(() => undefined)
  }
  const ended = deliverUntilStopped()

  const standing = (): Promise<OutsideStanding | undefined> => readStanding(db, logId, context.nowMs())
  const poll = shared(WAITING_POLL_MS, async () => {
    const found = await standing().catch(() => undefined)
    nextIndex = Math.max(nextIndex, found?.next_index ?? 0)
  })
  let waiting = 0
  return {
    log,
    wake: () => wakeUp.abort(),
    untilPassed: async logIndex => {
      if (waiting >= SYNC_WAITING_MAX) return false
      waiting += 1
      try {
        const deadline = performance.now() + log.syncWaitMs
        while (nextIndex <= logIndex && performance.now() < deadline && !stop.signal.aborted) await poll()
        return nextIndex > logIndex
      } finally {
        waiting -= 1
      }
    },
    standing,
    close: async () => {
      stop.abort()
      await ended
    },
  }
}

/** Resolves after the time, or when the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined)

/** Runs work after a delay, once for all callers that come in the meantime. */
function shared(delayMs: number, work: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<void> | undefined
  return () => {
    underWay ??= setTimeout(delayMs)
      .then(work)
      .finally(() => {
        underWay = undefined
      })
    return underWay
  }
}

// Delivers the service's entries to an outside log, in the order of their indices, each stored once.

/** Duration of the lease, after which another process delivers in place of one that died. Longer than the timeouts of one round. */
const leaseMs = ({ timestamps }: OutsideLog): number =>
  10_000 + (timestamps === undefined ? EXCHANGE_DEADLINE_MS : TIMESTAMP_DEADLINE_MS + TILED_DEADLINE_MS)
/** Wait after a failure, in milliseconds: a random part of this, doubled with each further failure in a row. */
const FIRST_WAIT_MS = 1000
/** The wait is never longer than this, in milliseconds; shorter in sync mode, where requests wait. */
const LONGEST_WAIT_MS: { readonly [mode in AnchorMode]: number } = { async: 300_000, sync: 15_000 }

type DeliveryContext = {
  readonly db: Database
  readonly log: OutsideLog
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Uniform in [0, 1); spreads retries. */
  readonly random: () => number
  readonly telemetry: Pick<Telemetry, "entered" | "notEntered" | "outsideBack">
  /** The name under which this process holds the lease. */
  readonly holder: string
}

/** The result of one round. */
type Round =
  /** Entries up to `next_index` are stored. `more`: others may follow at once. */
  | { readonly next_index: number; readonly more: boolean }
  /** The delivery failed; the next round starts after this time. */
  | { readonly next_index: number; readonly wait_ms: number }
  /** Another process delivers. */
  | "elsewhere"

type Delivery = { readonly playRound: (stop: AbortSignal) => Promise<Round> }

function openDelivery(context: DeliveryContext): Delivery {
  const { db, log, telemetry, holder } = context
  let failures = 0

  const fail = async (refusal: LogRefusal, log_index: number): Promise<number> => {
    const most = Math.min(LONGEST_WAIT_MS[log.mode], FIRST_WAIT_MS * 2 ** failures)
    failures += 1
    telemetry.notEntered(log.host, log_index, refusal)
    await noteOutsideFault(db, log.key.logId, refusal.fault, context.nowMs())
    return Math.max(refusal.retryAfterMs ?? 0, context.random() * most)
  }

  return {
    playRound: async stop => {
      const leased = await leaseOutside(db, log.key.logId, holder, leaseMs(log))
      if (leased === undefined) return "elsewhere"
      const first = leased.next_index
      const { size } = await readHead(db)
      const entries = await readEntries(db, first, Math.min(size, first + log.inFlight))
      if (entries.length === 0) return { next_index: first, more: false }
      const anchor = { name: "anchor", facts: { log: log.host, entries: entries.length }, apart: [] }
      const answers = await followed(anchor, async note => {
        const given = await Promise.all(entries.map(({ body }) => enterEntry(log, body, stop)))
        for (const answer of given) if ("fault" in answer) note({ fault: answer.fault })
        return given
      })
      const held = leadingEntries(answers)
      const next_index = first + held.length
      if (held.length > 0) {
        const rows = held.map((entered, at) => ({
          log_index: first + at,
          log_id: log.key.logId,
          entry: canonicalize(entered.entry),
          timestamp: "timestamp" in entered ? entered.timestamp : "",
        }))
        await keepOutside(db, log.key.logId, rows, log.timestamps && authorityRow(log.timestamps.authority))
        if (failures > 0) telemetry.outsideBack(log.host, first)
        failures = 0
        for (const [at, entered] of held.entries())
          telemetry.entered(isLateTo(timeOfOutside(entered), entries[at]?.integrated_time))
      }
      const refusal = answers[held.length]
      if (refusal === undefined || !("fault" in refusal)) return { next_index, more: true }
      if (stop.aborted) return { next_index, more: false }
      return { next_index, wait_ms: await fail(refusal, next_index) }
    },
  }
}

/** The entries before the first failure: they can be stored in order. */
function leadingEntries(answers: readonly Entered[]): readonly OutsideEntry[] {
  const held = []
  for (const answer of answers) {
    if ("fault" in answer) break
    held.push(answer)
  }
  return held
}

/** Whether the outside entry is not of the time of the embedded one. Only counted here: a verifier compares with the record's clock. */
const isLateTo = (time: number, own = time): boolean => Math.abs(time - own) > LOG_TIME_TOLERANCE_SECONDS

// Enters one entry in an outside log, or finds it there.

/** For one entry with API v1, both requests and their whole answers included. */
const EXCHANGE_DEADLINE_MS = 20_000

/**
 * Enters a body. When the log already has it (409), reads that entry, so that there is never a second one. The returned entry is the one
 * of this body, and its proof verifies; with API v2 its timestamp too. Never rejects.
 * @param body canonical body text
 */
const enterEntry = (log: OutsideLog, body: string, stop: AbortSignal): Promise<Entered> =>
  log.timestamps === undefined ? enterV1(log, body, stop) : enterTiled(log, log.timestamps, utf8Encode(body), stop)

async function enterV1(log: OutsideLog, body: string, stop: AbortSignal): Promise<Entered> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(EXCHANGE_DEADLINE_MS)])
  const entries = new URL(REKOR_V1_ENTRIES, log.url)
  try {
    const made = await askLog(entries, signal, body)
    if (made.status !== 409) return judge(made, 201, log, body)
    const uuid = made.location?.split("/").at(-1)
    if (uuid === undefined || !isRekorUuid(uuid)) return { fault: "invalid", status: 409 }
    return judge(await askLog(new URL(`${REKOR_V1_ENTRIES}/${uuid}`, log.url), signal), 200, log, body)
  } catch {
    return { fault: "unreachable" }
  }
}

function judge(answer: HttpAnswer, expected: number, log: OutsideLog, body: string): Entered {
  const { status, bytes } = answer
  if (status !== expected) return refusalOf(answer)
  const entry = bytes && parseRekorAnswer(bytes)
  if (entry === undefined) return { fault: "invalid", status }
  const problem = entryPlaceProblem(entry, encodeBase64(utf8Encode(body)), log.trust)
  return problem === undefined ? { entry } : { fault: "invalid", status, problem }
}

// Enters one entry in a Rekor log with API v2. Such a log signs no time, so a timestamp authority does. The timestamp is requested first:
// an entry is in the log without a timestamp only when an answer of the log was lost.

/**
 * For one entry in the log, all requests and their complete answers included. A log answers once a checkpoint contains the entry, and its
 * API asks clients to wait at least 20 s.
 */
const TILED_DEADLINE_MS = 30_000

type Found = { readonly entry: TiledLogEntry } | LogRefusal

/**
 * Gets a timestamp over the signature in a body and enters the body, or finds it where it was entered before. Never rejects.
 * @param body of the entry in the service's own log
 */
async function enterTiled(
  log: OutsideLog,
  timestamps: TimestampSource,
  body: Uint8Array,
  stop: AbortSignal,
): Promise<Entered> {
  const [request, signature, own] = [rekorV2Request(body), signatureIn(body), tiledBody(body)]
  // Every body of the embedded log has a signature and a key.
  if (request === undefined || signature === undefined || own === undefined) return { fault: "invalid" }
  const stamped = await askTimestamp(timestamps, signature, stop)
  if ("fault" in stamped) return stamped
  const signal = AbortSignal.any([stop, AbortSignal.timeout(TILED_DEADLINE_MS)])
  const found = await enter(log, request, own, signal).catch((): LogRefusal => ({ fault: "unreachable" }))
  if ("fault" in found) return found
  const problem = tiledEntryProblem(found.entry, encodeBase64(body), log.trust, stamped.time)
  return problem === undefined ? { entry: found.entry, timestamp: stamped.timestamp } : { fault: "invalid", problem }
}

async function enter(log: OutsideLog, request: string, body: Uint8Array, signal: AbortSignal): Promise<Found> {
  const made = await askLog(new URL(REKOR_V2_ENTRIES, log.url), signal, request)
  if (made.status === 409) return find(log, made, body, signal)
  if (made.status !== 201) return refusalOf(made)
  const entry = made.bytes && parseRekorV2Answer(made.bytes)
  return entry === undefined ? { fault: "invalid", status: 201 } : { entry }
}

/** Builds the proof of an entry that the log already has from its checkpoint and tiles: its API returns an entry only once. */
async function find(log: OutsideLog, { bytes }: HttpAnswer, body: Uint8Array, signal: AbortSignal): Promise<Found> {
  const index = bytes && indexOfDuplicate(bytes)
  if (index === undefined) return { fault: "invalid", status: 409 }
  const head = await askLog(new URL(`${REKOR_V2_READ}checkpoint`, log.url), signal)
  if (head.status !== 200) return refusalOf(head)
  const checkpoint = Buffer.from(head.bytes ?? []).toString("utf8")
  const size = sizeOfCheckpoint(checkpoint)
  if (size === undefined) return { fault: "invalid", status: 409 }
  // The published checkpoint may be older than the entry: the next attempt gets a later one.
  if (index >= size) return { fault: "failed", status: 409 }
  let refused: HttpAnswer | undefined
  const hashes = await buildInclusionProof(index, size, async (level, at, width) => {
    const tile = await askLog(new URL(`${REKOR_V2_READ}${tilePath({ level, index: at, width })}`, log.url), signal)
    if (tile.status !== 200) refused = tile
    return tile.bytes ?? new Uint8Array()
  }).catch(() => undefined)
  if (refused !== undefined) return refusalOf(refused)
  const logId = Buffer.from(log.key.logId, "base64")
  const entry = hashes && heldEntry({ logId, index, body, hashes, checkpoint })
  if (entry === undefined) return signal.aborted ? { fault: "unreachable" } : { fault: "invalid", status: 409 }
  return { entry }
}
