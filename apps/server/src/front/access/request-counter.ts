/** Counting requests: each gets its place in its window, in memory or in a database that several processes share. */
import type { Database } from "../../store/driver/database.ts"
import { createGroupCommit } from "../../store/driver/group-commit.ts"
import { countRequests, sweepRequestWindows } from "../../store/tables/request-windows.ts"
import { createHousekeeping, type Housekeeping } from "./housekeeping.ts"

/** Length of a window, which begins with its bucket's first request. docs/api.md, "Limits". */
export const WINDOW_MS = 60_000

export type Counted = {
  /** Place of the request in its window: 1, 2, 3 … */
  readonly place: number
  /** Milliseconds since the epoch. */
  readonly window_start: number
}

export type RequestCounter = {
  /**
   * Counts a request. Every request of a window gets a place of its own, whoever counts at the same time.
   * @throws StoreError when it could not be counted
   */
  readonly count: (bucket: string) => Promise<Counted>
  readonly close: () => Promise<void>
}

/** Buckets remembered at once; a hundred bytes or two each. */
export const MAX_BUCKETS = 100_000
/** Ended windows one newcomer clears away: more than it adds, so that they go before room is short. */
const CLEARED_PER_NEWCOMER = 4

type Window = { readonly start: number; requests: number }

/**
 * Windows in memory: for the embedded database, whose folder only one process has. A restart begins them anew. While all the buckets it
 * remembers are live, newcomers share one: neither does memory grow nor is anybody's count lost.
 */
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

/** Requests one statement counts. */
const MAX_REQUESTS_PER_STATEMENT = 1024
/** Requests that may wait to be counted; one more is answered 503 at once. */
const MAX_WAITING_REQUESTS = 8192
/** Ended windows are removed at most this often by one process … */
const SWEEP_EVERY_MS = 1000
/** … and at most so many at once, which is more than a process counts in that time. */
const SWEEP_MAX_ROWS = 10_000

/** Whether several processes may share a database: then they count in it. */
export const isShared = ({ kind }: Pick<Database, "kind">): boolean => kind === "postgres"

/** Removes ended windows, for whoever counts. */
export const sweepWindows = (db: Database): Housekeeping =>
  createHousekeeping(at => sweepRequestWindows(db, at, WINDOW_MS, SWEEP_MAX_ROWS), SWEEP_EVERY_MS)

/** Windows in the database: exact over all processes that share it. What waits is counted in one statement. */
export function storeCounter(db: Database, nowMs: () => number): RequestCounter {
  const sweeping = sweepWindows(db)
  const counting = createGroupCommit<string, Counted>(
    async batch => {
      const at = nowMs()
      const counted = await countBatch(db, batch, at)
      sweeping.due(at)
      return counted
    },
    { batch: MAX_REQUESTS_PER_STATEMENT, waiting: MAX_WAITING_REQUESTS },
  )
  return {
    count: counting.submit,
    close: async () => {
      await counting.close()
      await sweeping.close()
    },
  }
}

/** Counts requests together, and gives each its place as if they had come one after the other. */
async function countBatch(db: Database, batch: readonly string[], at: number): Promise<readonly Counted[]> {
  const arrived = new Map<string, number>()
  const turns = batch.map(bucket => {
    const turn = (arrived.get(bucket) ?? 0) + 1
    arrived.set(bucket, turn)
    return turn
  })
  const arrivals = Array.from(arrived, ([bucket, requests]) => ({ bucket, requests }))
  const windows = new Map((await countRequests(db, arrivals, at, WINDOW_MS)).map(row => [row.bucket, row]))
  return batch.flatMap((bucket, i) => {
    const window = windows.get(bucket)
    if (window === undefined) return []
    const before = window.requests - (arrived.get(bucket) ?? 0)
    return [{ place: before + (turns[i] ?? 0), window_start: window.window_start }]
  })
}
