/** A deadline and an abort signal for work that may ignore signals. */
import { AbortedError, RunsealError, TimeoutError } from "./client-errors.ts"
import type { Platform } from "./platform.ts"

/**
 * Runs `work` until it ends, `ms` milliseconds have passed or `outer` aborts, whichever comes first. Then the signal of `work`
 * aborts, and a later result is dropped.
 * @throws TimeoutError, AbortedError, what work throws, or the reason of `outer` when that is one of our errors
 */
export async function withDeadline<T>(
  sleep: Platform["sleep"],
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const over = new AbortController()
  const forward = (): void => stop.abort(ownReason(outer?.reason))
  if (outer?.aborted) throw ownReason(outer.reason)
  outer?.addEventListener("abort", forward)
  const late = (): void => {
    if (!over.signal.aborted) stop.abort(new TimeoutError(ms))
  }
  sleep(ms, over.signal).then(late, late)
  try {
    return await Promise.race([aborted(stop.signal), work(stop.signal)])
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error
  } finally {
    over.abort()
    outer?.removeEventListener("abort", forward)
  }
}

const ownReason = (reason: unknown): RunsealError =>
  reason instanceof RunsealError ? reason : new AbortedError(reason)

/** Rejects once the signal aborts. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
