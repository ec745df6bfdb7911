/** Counts requests in windows, in memory or in a database that several processes share. */
import type { Database } from "../../store/driver/database.ts"
import { createGroupCommit } from "../../store/driver/group-commit.ts"
import { countRequests, sweepRequestWindows } from "../../store/tables/request-windows.ts"
import { createHousekeeping, type Housekeeping } from "./housekeeping.ts"

/** Length of a window, which starts with its bucket's first request. docs/api.md, "Limits". */
export const WINDOW_MS = 60_000

export type Counted = {
  /** Place of the request in its window: 1, 2, 3 … */
  readonly place: number
  /** Milliseconds since the epoch. */
  readonly window_start: number
}

export type RequestCounter = {
  /**
   * Counts a request. Each request of a window gets another place, also when several processes count at the same time.
   * @throws StoreError when it could not be counted
   */
  readonly count: (bucket: string) => Promise<Counted>
  readonly close: () => Promise<void>
}

/** Buckets in memory; one or two hundred bytes each. */
export const MAX_BUCKETS = 100_000
/** Ended windows that are deleted when a bucket is added: more than one, so that they go before memory is full. */
const DELETED_PER_BUCKET = 4

type Window = { readonly start: number; requests: number }

/**
 * Windows in memory: for the embedded database, whose folder only one process uses. A restart forgets them. While memory is full of live
 * buckets, all further ones share a single window: memory does not grow, and every request is still counted.
 */
export function memoryCounter(nowMs: () => number, maxBuckets: number = MAX_BUCKETS): RequestCounter {
  // In the order in which the windows started: ended ones are in front.
  const windows = new Map<string, Window>()
  let overflow: Window | undefined

  const clearEnded = (now: number): void => {
    let left = DELETED_PER_BUCKET
    for (const [bucket, window] of windows) {
      if (left-- === 0 || isLive(window, now)) return
      windows.delete(bucket)
    }
  }
  const startWindow = (bucket: string, now: number): Window => {
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
    const window = isLive(known, now) ? known : startWindow(bucket, now)
    window.requests++
    return { place: window.requests, window_start: window.start }
  }
  return { count: async bucket => count(bucket), close: async () => {} }
}

/** A window that starts a whole length in the future was started by a clock that has been corrected since. */
const isLive = (window: Window | undefined, now: number): window is Window =>
  window !== undefined && Math.abs(now - window.start) < WINDOW_MS

/** Requests that one statement counts. */
const MAX_REQUESTS_PER_STATEMENT = 1024
/** Requests that may wait in the queue to be counted; one more is answered 503 at once. */
const MAX_WAITING_REQUESTS = 8192
/** Ended windows are deleted at most this often by one process … */
const SWEEP_EVERY_MS = 1000
/** … and at most so many by one statement, which is more than a process counts in that time. */
const SWEEP_MAX_ROWS = 10_000

/** Whether several processes may share a database; then requests are counted in it. */
export const isShared = ({ kind }: Pick<Database, "kind">): boolean => kind === "postgres"

/** Deletes ended windows in the background. */
export const sweepWindows = (db: Database): Housekeeping =>
  createHousekeeping(at => sweepRequestWindows(db, at, WINDOW_MS, SWEEP_MAX_ROWS), SWEEP_EVERY_MS)

/** Windows in the database: exact over all processes that share it. Requests in the queue are counted by one statement. */
export function storeCounter(db: Database, nowMs: () => number): RequestCounter {
  const sweeping = sweepWindows(db)
  const counting = createGroupCommit<string, Counted>(
    async batch => {
      const at = nowMs()
      const counted = await countBatch(db, batch, at)
      sweeping.due(at)
      return counted
    },
    { batch: MAX_REQUESTS_PER_STATEMENT, waiting: MAX_WAITING_REQUESTS, readsOnly: true },
  )
  return {
    count: counting.submit,
    close: async () => {
      await counting.close()
      await sweeping.close()
    },
  }
}

/** Counts the requests of a batch by one statement, and numbers them as if they had come one after the other. */
async function countBatch(db: Database, buckets: readonly string[], at: number): Promise<readonly Counted[]> {
  const { totals, numbers } = numberRequests(buckets)
  const arrivals = Array.from(totals, ([bucket, requests]) => ({ bucket, requests }))
  const windows = new Map((await countRequests(db, arrivals, at, WINDOW_MS)).map(row => [row.bucket, row]))
  return buckets.flatMap((bucket, i) => {
    const window = windows.get(bucket)
    return window === undefined ? [] : [countedIn(window, totals.get(bucket), numbers[i])]
  })
}

/** How many requests of a batch each bucket has, and the number of each request in its bucket: 1, 2, 3 … */
export function numberRequests(buckets: readonly string[]) {
  const totals = new Map<string, number>()
  const numbers = buckets.map(bucket => {
    const number = (totals.get(bucket) ?? 0) + 1
    totals.set(bucket, number)
    return number
  })
  return { totals, numbers }
}

/**
 * A request's place in its window.
 * @param window after all requests of the batch were counted in it
 * @param total requests of the batch in this bucket
 * @param number of the request among them
 */
export const countedIn = (
  { requests, window_start }: { readonly requests: number; readonly window_start: number },
  total = 0,
  number = 0,
): Counted => ({ place: requests - total + number, window_start })
