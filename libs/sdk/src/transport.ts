/** A call from its first attempt to its last: deadline, abort, repeats. */
import { withDeadline } from "./deadline.ts"
import { type Call, exchange, type Reply } from "./exchange.ts"
import { retryDelayMs } from "./retry.ts"
import { type CallOptions, type Limits, readLimits, type Settings } from "./settings.ts"

/** Makes a call and reads its answer; what `read` throws decides with the failures of the exchange whether to repeat. */
export type Send = <T>(call: Call, read: (reply: Reply) => T, options?: CallOptions) => Promise<T>

export function createTransport(settings: Settings): Send {
  return async (call, read, options = {}) => {
    const limits = readLimits(options, settings)
    return await withDeadline(settings.sleep, limits.deadlineMs, options.signal, async signal => {
      const attempt = (): Promise<Reply> =>
        withDeadline(settings.sleep, limits.timeoutMs, signal, inner => exchange(settings, call, inner))
      return await repeat(settings, call, limits, signal, async () => read(await attempt()))
    })
  }
}

/** Attempts until one succeeds, none is left, or the next would begin after the deadline: then the last failure is told. */
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
      const delay = signal.aborted || done >= retries ? undefined : retryDelayMs(error, done, settings.random)
      if (delay === undefined || settings.now() + delay >= endsAt) throw error
      await settings.sleep(delay, signal)
      if (signal.aborted) throw error
    }
  }
}
