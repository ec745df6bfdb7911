/** The log's clock: whole seconds that never go back and never stray from the process clock. docs/pipeline.md, "Order of sealing". */

/** Furthest the log's time may run from the process clock before sealing stops, in seconds. */
export const MAX_LOG_CLOCK_SKEW_SECONDS = 60

/**
 * Log time of the next batch in Unix seconds; undefined when the log's last time is too far ahead of the clock, so that
 * sealing must wait rather than sign a false time.
 */
export function nextLogTime(lastLogTime: number, nowMs: number): number | undefined {
  const now = Math.floor(nowMs / 1000)
  const time = Math.max(lastLogTime, now)
  return time - now > MAX_LOG_CLOCK_SKEW_SECONDS ? undefined : time
}
