/** The one place where the client touches the world: network, clock, timers, randomness. Each can be given by the caller. */

/**
 * Sends one request. `globalThis.fetch` fits, and so does anything that answers as it does, such as `app.request` of a Hono
 * application.
 */
export type Fetch = (url: string, init: RequestInit) => Response | Promise<Response>

export type Platform = {
  readonly fetch: Fetch
  /** Milliseconds since the epoch. Tells how long a call has taken, and when an HTTP date comes. */
  readonly now: () => number
  /** Resolves after that many milliseconds, or as soon as the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** At least 0, less than 1. Spreads repeated calls in time; guards nothing. */
  readonly random: () => number
}

/** What Node and browsers give. */
export const PLATFORM: Platform = {
  fetch: (url, init) => globalThis.fetch(url, init),
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal.aborted) return resolve()
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener("abort", wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      signal.addEventListener("abort", wake)
    }),
  random: () => Math.random(),
}
