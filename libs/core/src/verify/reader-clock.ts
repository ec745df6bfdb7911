/** A verified document held to the clock of who reads it. The libraries have none: the program that reads gives its own. */
import { CLOCK_TOLERANCE_SECONDS, clockMillis } from "../vocabulary/scalars.ts"
import { isUnreadable, type Unreadable } from "./document.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

/**
 * The report, with a limitation more when the document is dated too far ahead of the reader: by its own clock or by the time of
 * any log entry in it. Nothing is said of one that failed, whose dates are nobody's.
 * @param readAtMs the reader's clock, milliseconds since the epoch; absent: the reader has none
 */
export function heldToClock<R extends Report | Unreadable>(report: R, readAtMs: number | undefined): R
export function heldToClock(report: Report | Unreadable, readAtMs: number | undefined): Report | Unreadable {
  if (readAtMs === undefined || isUnreadable(report) || report.verdict === VERDICTS.failed) return report
  const { clock, anchors, limitations } = report
  const latest = readAtMs + CLOCK_TOLERANCE_SECONDS * 1000
  const own = clock === undefined ? 0 : (clockMillis(clock) ?? 0)
  const isAhead = own > latest || anchors.some(({ integrated_time }) => Number(integrated_time) * 1000 > latest)
  return isAhead ? { ...report, limitations: [...limitations, limitation("future_dated")] } : report
}
