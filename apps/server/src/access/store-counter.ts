/** Windows in the database: exact over all processes that share it. What waits is counted in one statement. */
import type { Database } from "../store/driver/database.ts"
import { createGroupCommit } from "../store/driver/group-commit.ts"
import { countRequests, sweepRequestWindows } from "../store/tables/request-windows.ts"
import { createHousekeeping, type Housekeeping } from "./housekeeping.ts"
import { type Counted, type RequestCounter, WINDOW_MS } from "./request-counter.ts"

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
