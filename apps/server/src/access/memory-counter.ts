/** Windows in memory: for the embedded database, whose folder only one process has. A restart begins them anew. */
import { type Counted, type RequestCounter, WINDOW_MS } from "./request-counter.ts"

/** Buckets remembered at once; a hundred bytes or two each. */
export const MAX_BUCKETS = 100_000
/** Ended windows one newcomer clears away: more than it adds, so that they go before room is short. */
const CLEARED_PER_NEWCOMER = 4

type Window = { readonly start: number; requests: number }

/** While all the buckets it remembers are live, newcomers share one: neither does memory grow nor is anybody's count lost. */
export function memoryCounter(nowMs: () => number, maxBuckets: number = MAX_BUCKETS): RequestCounter {
  // In the order in which the windows began: what ended is in front.
  const windows = new Map<string, Window>()
  let overflow: Window | undefined

  const clearEnded = (now: number): void => {
    let left = CLEARED_PER_NEWCOMER
    for (const [bucket, window] of windows) {
      if (left-- === 0 || isLive(window, now)) return
      windows.delete(bucket)
    }
  }
  const begin = (bucket: string, now: number): Window => {
    windows.delete(bucket)
    clearEnded(now)
    const window: Window = { start: now, requests: 0 }
    if (windows.size < maxBuckets) windows.set(bucket, window)
    else if (isLive(overflow, now)) return overflow
    else overflow = window
    return window
  }
  const count = (bucket: string): Counted => {
    const now = nowMs()
    const known = windows.get(bucket)
    const window = isLive(known, now) ? known : begin(bucket, now)
    window.requests++
    return { place: window.requests, window_start: window.start }
  }
  return { count: async bucket => count(bucket), close: async () => {} }
}

/** A window that starts a whole length from now was begun by a clock that has been put right since. */
const isLive = (window: Window | undefined, now: number): window is Window =>
  window !== undefined && Math.abs(now - window.start) < WINDOW_MS
