/** Which remembered heads a log contains. docs/when-it-is-down.md, "Failover". */
import { afterAll, beforeAll, expect, test } from "vitest"
import { memoryDatabase } from "../../spec/database/reused-databases.ts"
import type { Database } from "../store/driver/database.ts"
import { headOf, notContained } from "./heads.ts"

let db: Database
beforeAll(async () => {
  db = await memoryDatabase()
})
afterAll(() => db.close())

const headWith = (size: number, byte: number) => headOf({ size, root: new Uint8Array(32).fill(byte) })

test("a log contains a remembered head of its own size with its own root alone: a fork as long as it is another log", async () => {
  const head = headWith(5, 1)
  const remembered = [headWith(5, 1), headWith(5, 2), headWith(6, 1)]
  const missing = await db.read(source => notContained(source, head, remembered))
  expect(missing).toEqual(remembered.slice(1))
})
