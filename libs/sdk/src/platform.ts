/** The only access to network, clock, timers and randomness. The caller can replace each. */

/**
 * Sends one request. `globalThis.fetch` fits, and so does any function with the same answers, such as `app.request` of a Hono
 * application.
 */
export type Fetch = (url: string, init: RequestInit) => Response | Promise<Response>

export type Platform = {
  readonly fetch: Fetch
  /** Milliseconds since the epoch. Measures how long a call has taken, and how far away an HTTP date is. */
  readonly now: () => number
  /** Resolves after that many milliseconds, or as soon as the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** At least 0, less than 1. Spreads retries in time; protects nothing. */
  readonly random: () => number
}

/** The platform of Node and browsers. */
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
