/**
 * Whether records are dated before a tree that lacks them. Whoever saw the log with so many entries, or knows who did, knows that
 * everything behind them came later, whatever time the log signs for it.
 */
import { CLOCK_TOLERANCE_SECONDS, clockMillis } from "@runseal/core/vocabulary/scalars"
import type { ClaimedEntry } from "./log-documents.ts"
import { AuditFailure } from "./log-failure.ts"
import type { SeenCheckpoint } from "./seen-checkpoints.ts"

/**
 * Refuses a record dated more than `CLOCK_TOLERANCE_SECONDS` before a time at which the log did not hold its entry. Throws AuditFailure.
 * @param seen trees that are beginnings of the audited one
 */
export function checkDates(claimed: readonly ClaimedEntry[], seen: readonly SeenCheckpoint[]): void {
  for (const { document, index, dates } of claimed)
    for (const one of seen) {
      const { size } = one.head
      if (index < size) continue
      const known = [
        { time: one.newest_at, how: "when you saw" },
        { time: one.cosigned_at, how: "when witnesses cosigned" },
      ]
      for (const { time, how } of known)
        for (const date of dates) {
          if (time === undefined || !isBefore(date.millis, time)) continue
          throw new AuditFailure(
            "documents",
            `Entry ${index} of ${document} is dated ${new Date(date.millis).toISOString()} by ${date.whose}, and was not in the log at ${time}, ${how} it with ${size} entries.`,
            one,
          )
        }
    }
}

const isBefore = (millis: number, time: string): boolean =>
  millis + CLOCK_TOLERANCE_SECONDS * 1000 < (clockMillis(time) ?? 0)
