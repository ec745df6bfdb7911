/** Gets every entry into the outside log, beside everything else; who seals waits only in sync mode, and then not for ever. */
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

/** Between two looks at a log that others grow or deliver, in milliseconds. */
const LOOK_MS = 2000
/** Between two looks of those who wait, however many they are. */
const POLL_MS = 250
/** Longest that an answer waits in sync mode, in milliseconds. */
export const SYNC_WAIT_MS = 25_000
/** Answers that wait at one time; a further one is not waited for. */
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
   * Whether an answer need not wait for an entry any more, within the time that it may: the outside log holds it, or never will,
   * since it was made before the log was named.
   */
  readonly untilPassed: (logIndex: number) => Promise<boolean>
  readonly standing: () => Promise<OutsideStanding | undefined>
  /** Ends requests under way; what they came to is found again after the next start. */
  readonly close: () => Promise<void>
}

/**
 * Names the log in the database and begins to deliver.
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
  // The embedded database has one process: whoever starts on it follows one that is gone.
  const holder = db.kind === "postgres" ? randomUUID() : "this process"
  const delivery = openDelivery({ ...context, holder, random: Math.random })
  const stop = new AbortController()
  let bell = new AbortController()
  /** Entries before this one are known to be held, or to be none of the log's. */
  let passed = 0

  const playRounds = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const heard = AbortSignal.any([stop.signal, bell.signal])
      try {
        const round = await delivery.playRound(stop.signal)
        if (round === "elsewhere") await pause(LOOK_MS, stop.signal)
        else {
          passed = Math.max(passed, round.next_index)
          if ("wait_ms" in round) await pause(round.wait_ms, stop.signal)
          else if (!round.more) await pause(LOOK_MS, heard)
        }
      } catch (error) {
        context.telemetry.deliveryFailed(error)
        await pause(LOOK_MS, stop.signal)
      }
      if (bell.signal.aborted) bell = new AbortController()
    }
    await endLease(db, logId, holder).catch(() => undefined)
  }
  const ended = playRounds()

  const standing = (): Promise<OutsideStanding | undefined> => readStanding(db, logId, context.nowMs())
  const look = shared(POLL_MS, async () => {
    const found = await standing().catch(() => undefined)
    passed = Math.max(passed, found?.next_index ?? 0)
  })
  let waiting = 0
  return {
    log,
    wake: () => bell.abort(),
    untilPassed: async logIndex => {
      if (waiting >= SYNC_WAITING_MAX) return false
      waiting += 1
      try {
        const deadline = performance.now() + SYNC_WAIT_MS
        while (passed <= logIndex && performance.now() < deadline && !stop.signal.aborted) await look()
        return passed > logIndex
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

/** Work that is done once for all who ask while it goes on, some time after they begin to. */
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
