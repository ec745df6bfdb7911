/** A client whose permits are over at once: longer waits than those of its requests end early. */
import type { ClientOptions } from "@runseal/sdk"

/** Milliseconds: longer than a request and its retries, shorter than a permit is valid. */
const LONG_MS = 150_000
const PERMIT_MS = 100

export const quickPermits: ClientOptions = {
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal.aborted) return resolve()
      const timer = setTimeout(resolve, ms > LONG_MS ? PERMIT_MS : ms)
      signal.addEventListener("abort", () => {
        clearTimeout(timer)
        resolve()
      })
    }),
}
