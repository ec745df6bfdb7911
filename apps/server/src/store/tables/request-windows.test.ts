/** Counting in the database: every request once, also when processes count at the same time. */
import { expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import type { Database } from "../driver/database.ts"
import { countRequests, sweepRequestWindows } from "./request-windows.ts"

const WINDOW_MS = 60_000
const START = 1_000_000_000_000

bothDatabases("request windows", open => {
  let opened: Promise<Database> | undefined
  const database = (): Promise<Database> => {
    opened ??= open()
    return opened
  }
  const count = async (bucket: string, at: number, requests = 1): Promise<unknown> => {
    const [window, ...more] = await countRequests(await database(), [{ bucket, requests }], at, WINDOW_MS)
    expect(more).toEqual([])
    return [window?.requests, (window?.window_start ?? 0) - START]
  }

  test("a window begins with its first request, lasts its length, and the next begins at one", async () => {
    expect(await count("a", START + 5)).toEqual([1, 5])
    expect(await count("a", START + 5 + WINDOW_MS - 1, 3)).toEqual([4, 5])
    expect(await count("a", START + 5 + WINDOW_MS)).toEqual([1, 5 + WINDOW_MS])
  })

  test("a clock that was put back by a window's length begins a new window", async () => {
    await count("b", START)
    expect(await count("b", START - WINDOW_MS + 1)).toEqual([2, 0])
    expect(await count("b", START - WINDOW_MS)).toEqual([1, -WINDOW_MS])
  })

  test("buckets of one statement are counted each for itself", async () => {
    const arrivals = Array.from({ length: 600 }, (_, i) => ({ bucket: `many ${i}`, requests: i + 1 }))
    const windows = await countRequests(await database(), arrivals, START, WINDOW_MS)
    const counted = windows.map(({ bucket, requests }) => ({ bucket, requests }))
    expect(counted.toSorted((x, y) => x.requests - y.requests)).toEqual(arrivals)
  })

  test("statements that cross each other count every request once and do not wait for each other for ever", async () => {
    const db = await database()
    const names = ["p", "q", "r", "s"]
    const rounds = Array.from({ length: 40 }, (_, i) => {
      const order = i % 2 === 0 ? names : names.toReversed()
      const arrivals = order.map(bucket => ({ bucket, requests: 2 }))
      return countRequests(db, arrivals, START, WINDOW_MS)
    })
    const seen = (await Promise.all(rounds)).flat().filter(({ bucket }) => bucket === "q")
    const places = seen.map(({ requests }) => requests).toSorted((a, b) => a - b)
    expect(places).toEqual(Array.from({ length: 40 }, (_, i) => 2 * i + 2))
  })

  test("windows that have ended are swept in steps, the oldest first; live ones stay", async () => {
    const db = await database()
    await db.sql`delete from request_window`
    for (let i = 0; i < 5; i++) await count(`old ${i}`, START + i)
    await count("live", START + WINDOW_MS)
    const left = async (): Promise<unknown> =>
      (await db.sql`select bucket from request_window order by window_start`).map(row => row.bucket)
    await sweepRequestWindows(db, START + WINDOW_MS + 3, WINDOW_MS, 2)
    expect(await left()).toEqual(["old 2", "old 3", "old 4", "live"])
    await sweepRequestWindows(db, START + WINDOW_MS + 3, WINDOW_MS, 9)
    expect(await left()).toEqual(["old 4", "live"])
  })
})
