/**
 * A process without a free file descriptor for a while: the embedded database in the folder of its first argument must make a file then.
 * Prints what became of each write, while descriptors lack and after it.
 */
import { closeSync, openSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { openDatabase } from "../../src/store/driver/database.ts"
import { StoreError } from "../../src/store/driver/store-errors.ts"

const AFTER_MS = 20_000
/** Pages of a table until PostgreSQL makes a second file for it. */
const ROWS = 400

const [dataDir = ""] = process.argv.slice(2)
const db = await openDatabase({ kind: "pglite", dataDir })
const write = (): Promise<string> =>
  db
    .write(({ sql }) => sql`insert into lacking select repeat('x', 1000) from generate_series(1, ${ROWS})`)
    .then(() => "written")
    .catch((error: unknown) => (error instanceof StoreError ? (error.sqlstate ?? error.code) : "another error"))

await db.write(({ sql }) => sql`create table lacking (a text)`)
const taken: number[] = []
try {
  for (;;) taken.push(openSync("/dev/null", "r"))
} catch {
  process.stdout.write(`${await write()}\n`)
}
for (const fd of taken) closeSync(fd)
const until = performance.now() + AFTER_MS
for (let last = ""; last !== "written" && performance.now() < until; await setTimeout(250)) {
  last = await write()
  process.stdout.write(`${last}\n`)
}
await db.close()
