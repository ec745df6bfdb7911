/** Compares a verified document with the reader's clock. The libraries have no clock: the program that reads passes its own. */
import { CLOCK_TOLERANCE_SECONDS, clockMillis } from "../vocabulary/scalars.ts"
import type { Unreadable } from "./parsed-text.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

/**
 * The report, with one more limitation when the document is dated too far ahead of the reader, by its own clock or by the time of
 * any log entry in it. The dates of a document that failed prove nothing, and are not compared.
 * @param readAtMs the reader's clock, milliseconds since the epoch; absent: the reader has none
 */
export function heldToClock<R extends Report | Unreadable>(report: R, readAtMs: number | undefined): R
export function heldToClock(report: Report | Unreadable, readAtMs: number | undefined): Report | Unreadable {
  if (readAtMs === undefined || "unreadable" in report || report.verdict === VERDICTS.failed) return report
  const { clock, anchors, limitations } = report
  const latest = readAtMs + CLOCK_TOLERANCE_SECONDS * 1000
  const own = clock === undefined ? 0 : (clockMillis(clock) ?? 0)
  const isAhead = own > latest || anchors.some(({ integrated_time }) => Number(integrated_time) * 1000 > latest)
  return isAhead ? { ...report, limitations: [...limitations, limitation("future_dated")] } : report
}
