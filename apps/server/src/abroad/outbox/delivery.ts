/** Delivers the service's entries to an outside log, in the order of their indices, each stored once. */
import { canonicalize } from "@runseal/canonical"
import type { OutsideEntry } from "@runseal/core/artifacts/anchor"
import { timeOfOutside } from "@runseal/core/verify/outside"
import { LOG_TIME_TOLERANCE_SECONDS } from "@runseal/core/vocabulary/scalars"
import { followed } from "../../followed-steps.ts"
import type { AnchorMode } from "../../options/table.ts"
import type { Database } from "../../store/driver/database.ts"
import { readEntries, readHead } from "../../store/tables/log-store.ts"
import { keepOutside, leaseOutside, noteOutsideFault } from "../../store/tables/outside-log-table.ts"
import type { Telemetry } from "../../telemetry.ts"
import type { Entered, Refusal } from "./ask-log.ts"
import { TIMESTAMP_DEADLINE_MS } from "./ask-timestamp.ts"
import { EXCHANGE_DEADLINE_MS, enterEntry } from "./enter-entry.ts"
import { TILED_DEADLINE_MS } from "./enter-tiled.ts"
import { authorityRow, type OutsideLog } from "./outside-log.ts"

/** Duration of the lease, after which another process delivers in place of one that died. Longer than the timeouts of one round. */
const leaseMs = ({ timestamps }: OutsideLog): number =>
  10_000 + (timestamps === undefined ? EXCHANGE_DEADLINE_MS : TIMESTAMP_DEADLINE_MS + TILED_DEADLINE_MS)
/** Wait after a failure, in milliseconds: a random part of this, doubled with each further failure in a row. */
const FIRST_WAIT_MS = 1000
/** The wait is never longer than this, in milliseconds; shorter in sync mode, where requests wait. */
const LONGEST_WAIT_MS: { readonly [mode in AnchorMode]: number } = { async: 300_000, sync: 15_000 }

export type DeliveryContext = {
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
export type Round =
  /** Entries up to `next_index` are stored. `more`: others may follow at once. */
  | { readonly next_index: number; readonly more: boolean }
  /** The delivery failed; the next round starts after this time. */
  | { readonly next_index: number; readonly wait_ms: number }
  /** Another process delivers. */
  | "elsewhere"

type Delivery = { readonly playRound: (stop: AbortSignal) => Promise<Round> }

export function openDelivery(context: DeliveryContext): Delivery {
  const { db, log, telemetry, holder } = context
  let failures = 0

  const fail = async (refusal: Refusal, log_index: number): Promise<number> => {
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
