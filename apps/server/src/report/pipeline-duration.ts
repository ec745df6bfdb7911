/** The spellings of `Pipeline Duration` (docs/report.md, "Pipeline Duration"). */

const MICROSECONDS_PER_MS = 1000

/**
 * The duration of a run as the metadata table spells it.
 * @param ms wall-clock milliseconds, rounded down
 * @param us wall-clock microseconds; undefined or 0 in records of older schemas, which kept milliseconds alone
 */
export function pipelineDuration(ms: number, us: number | undefined): string {
  if (us === undefined || us === 0)
    return ms === 0
      ? "< 1 ms (both recorded durations are 0)"
      : `${ms} ms (legacy schema: sub-millisecond precision is unavailable)`
  const exact = (us / MICROSECONDS_PER_MS).toFixed(3)
  return us < MICROSECONDS_PER_MS ? `${exact} ms (sub-millisecond)` : `${ms} ms (${exact} ms wall-clock)`
}
