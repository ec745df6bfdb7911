/** Delivers every entry to the outside log in the background. A request waits for it in sync mode only, with a timeout. */
import { randomUUID } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import { encodeBase64 } from "@runseal/canonical"
import { MAX_OUTSIDE_LOGS } from "@runseal/core/artifacts/bundle-schema"
import type { OutsideStanding } from "@runseal/core/wire/log-answers"
import { StartupError } from "../../options/startup-error.ts"
import type { Database } from "../../store/driver/database.ts"
import { endLease, listOutsideLogs, nameOutsideLog } from "../../store/tables/outside-log-table.ts"
import type { Telemetry } from "../../telemetry.ts"
import { type DeliveryContext, openDelivery } from "./delivery.ts"
import { readStanding } from "./delivery-state.ts"
import type { OutsideLog } from "./outside-log.ts"

/** Between two polls of the log, which other processes may grow or deliver, in milliseconds. */
const LOG_POLL_MS = 2000
/** Between two polls for all requests that wait, in milliseconds. */
const WAITING_POLL_MS = 250
/** Longest that an answer waits in sync mode, in milliseconds. */
export const SYNC_WAIT_MS = 25_000
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
        const deadline = performance.now() + SYNC_WAIT_MS
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
