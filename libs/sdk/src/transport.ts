/** A call from its first attempt to its last: deadline, abort, retries. */
import { addCall, EndUserTokenError, HttpStatusError, TimeoutError } from "./client-errors.ts"
import { withDeadline } from "./deadline.ts"
import { type Call, exchange, type Reply, shownCall, waitsForToken } from "./exchange.ts"
import { retryDelayMs } from "./retry.ts"
import { type CallOptions, type Limits, readLimits, type Settings } from "./settings.ts"

/** Sends a call and reads its answer. An error of `read` counts as a failure of the attempt when a retry is decided. */
export type Send = <T>(call: Call, read: (reply: Reply) => T, options?: CallOptions) => Promise<T>

export function createTransport(settings: Settings): Send {
  return async (call, read, options = {}) => {
    const limits = readLimits(options, settings)
    const attempts = async (signal: AbortSignal) => {
      const attempt = (): Promise<Reply> =>
        withDeadline(settings.sleep, limits.timeoutMs, signal, inner => exchange(settings, call, inner))
      return await repeat(settings, call, limits, signal, async () => read(await attempt()))
    }
    try {
      return await withDeadline(settings.sleep, limits.deadlineMs, options.signal, attempts)
    } catch (error) {
      const isOfToken = error instanceof TimeoutError && waitsForToken(call)
      throw addCall(isOfToken ? new EndUserTokenError(error) : error, shownCall(settings, call))
    }
  }
}

const namesTime = (error: unknown): boolean => error instanceof HttpStatusError && error.retryAfterSeconds !== undefined

/** Attempts until one succeeds, none is left, or the next would start after the deadline; then throws the last error. */
async function repeat<T>(
  settings: Settings,
  call: Call,
  limits: Limits,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const endsAt = settings.now() + limits.deadlineMs
  const retries = call.repeatable ? settings.retries : 0
  for (let done = 0; ; done++) {
    try {
      return await attempt()
    } catch (error) {
      const isLast = signal.aborted || done >= retries || (call.awaited === true && namesTime(error))
      const delay = isLast ? undefined : retryDelayMs(error, done, settings.random)
      if (delay === undefined || settings.now() + delay >= endsAt) throw error
      await settings.sleep(delay, signal)
      if (signal.aborted) throw error
    }
  }
}
