/**
 * The only access to network, clock, timers and randomness, each of which the caller can replace; and to Node's environment and files,
 * which browsers do not have.
 */

/**
 * Sends one request. `globalThis.fetch` fits, and so does any function with the same answers, such as `app.request` of a Hono
 * application.
 */
export type Fetch = (url: string, init: RequestInit) => Response | Promise<Response>

export type Platform = {
  readonly fetch: Fetch
  /**
   * Milliseconds since the epoch, not always whole. Measures how long a call has taken, and how far away an HTTP date is. Ours never
   * jumps: a clock that is set ahead during an act would leave no time for its close.
   */
  readonly now: () => number
  /** Resolves after that many milliseconds, or as soon as the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** At least 0, less than 1. Spreads retries in time; protects nothing. */
  readonly random: () => number
}

/** The platform of Node and browsers. */
export const PLATFORM: Platform = {
  fetch: (url, init) => globalThis.fetch(url, init),
  now: () => performance.timeOrigin + performance.now(),
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

/** Does something later, unless the process ends before: it keeps none alive. */
export function whileIdle(ms: number, work: () => void): void {
  const timer: unknown = setTimeout(work, ms)
  const unref: unknown = Reflect.get(Object(timer), "unref")
  if (typeof unref === "function") unref.call(timer)
}

/** 128 random bits in hex: an idempotency key where the caller makes none. */
export const randomKey = (): string =>
  Array.from(globalThis.crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("")

/** A member of the global `process`, which Node and programs like it have; undefined elsewhere. */
const ofProcess = (name: string): unknown => Reflect.get(Object(Reflect.get(globalThis, "process")), name)

/** A variable of the process environment; undefined when it is empty, or where there is no such environment. */
export function environmentVariable(name: string): string | undefined {
  const value: unknown = Reflect.get(Object(ofProcess("env")), name)
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The part of `node:fs` that is used here. */
export type NodeFiles = {
  readonly createReadStream: (path: string) => AsyncIterable<Uint8Array>
  readonly promises: { readonly writeFile: (path: string, bytes: Uint8Array) => Promise<void> }
}

/** `node:fs`, loaded without an import, which bundlers for browsers would refuse. Undefined in browsers and before Node 20.16. */
export function nodeFiles(): NodeFiles | undefined {
  const load = ofProcess("getBuiltinModule")
  const module: unknown = typeof load === "function" ? load("node:fs") : undefined
  return isNodeFiles(module) ? module : undefined
}

const isNodeFiles = (module: unknown): module is NodeFiles =>
  typeof module === "object" && module !== null && "createReadStream" in module && "promises" in module
