/** Runs a suite on every kind of database the store supports. */
import { afterAll, describe } from "vitest"
import { startPostgresCluster } from "../../cluster/postgres-cluster.ts"
import { type Database, openDatabase } from "../../src/store/database.ts"

/** The cluster of this test file; absent where the machine has no PostgreSQL. */
export const postgresStart = await startPostgresCluster()

afterAll(async () => {
  if (postgresStart.kind === "started") await postgresStart.cluster.stop()
})

/** Appended to the title of what needs PostgreSQL. */
export const postgresTitle: string =
  postgresStart.kind === "started" ? "on PostgreSQL" : `on PostgreSQL (not present: ${postgresStart.reason})`

let databases = 0

/** URL of a new, empty PostgreSQL database. */
export async function newPostgresUrl(): Promise<string> {
  if (postgresStart.kind === "absent") throw new Error(postgresStart.reason)
  return postgresStart.cluster.createDatabase(`test_${++databases}`)
}

/** Describes the suite on the embedded database and on PostgreSQL. `open` gives a new, migrated database each time. */
export function eachDatabase(name: string, suite: (open: () => Promise<Database>) => void): void {
  const closeAfter = (open: () => Promise<Database>) => {
    const opened: Database[] = []
    afterAll(async () => {
      await Promise.all(opened.map(database => database.close()))
    })
    return async (): Promise<Database> => {
      const database = await open()
      opened.push(database)
      return database
    }
  }
  describe(`${name} on PGlite`, () => {
    suite(closeAfter(() => openDatabase({ kind: "memory" })))
  })
  describe.skipIf(postgresStart.kind === "absent")(`${name} ${postgresTitle}`, () => {
    suite(closeAfter(async () => openDatabase({ kind: "postgres", url: await newPostgresUrl() })))
  })
}
