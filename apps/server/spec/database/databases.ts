/** Runs a suite on every kind of database the store supports. */
import { randomUUID } from "node:crypto"
import postgres from "postgres"
import { afterAll, describe, inject } from "vitest"
import { type Database, openDatabase } from "../../src/store/driver/database.ts"
import { TEMPLATE } from "./one-cluster.ts"
import { memoryDatabase } from "./reused-databases.ts"

/** The cluster of this run; absent where the machine has no PostgreSQL. */
export const postgresStart = inject("postgres")

/** The PgBouncer in front of it; absent where the machine has none. */
const poolerStart = inject("pooler")

/** Appended to the title of what needs PgBouncer. */
export const poolerTitle: string =
  poolerStart.kind === "started" ? "through PgBouncer" : `through PgBouncer (not present: ${poolerStart.reason})`

/** Whether there is no PgBouncer here. */
export const poolerIsAbsent: boolean = poolerStart.kind === "absent"

/** The same database through PgBouncer. */
export function throughPooler(url: string): string {
  if (poolerStart.kind === "absent") throw new Error(poolerStart.reason)
  return Object.assign(new URL(poolerStart.url), { pathname: new URL(url).pathname }).href
}

/** Appended to the title of what needs PostgreSQL. */
export const postgresTitle: string =
  postgresStart.kind === "started" ? "on PostgreSQL" : `on PostgreSQL (not present: ${postgresStart.reason})`

/** URL of a new PostgreSQL database, migrated and empty. */
export const newPostgresUrl = (): Promise<string> => createDatabase(TEMPLATE)

/** URL of a new PostgreSQL database that no server has seen. */
export const unmigratedPostgresUrl = (): Promise<string> => createDatabase("template1")

async function createDatabase(template: string): Promise<string> {
  if (postgresStart.kind === "absent") throw new Error(postgresStart.reason)
  const name = `test_${randomUUID().replaceAll("-", "")}`
  const sql = postgres(postgresStart.url, { max: 1 })
  await sql`create database ${sql(name)} template ${sql(template)}`.finally(() => sql.end())
  return Object.assign(new URL(postgresStart.url), { pathname: `/${name}` }).href
}

type Suite = (open: () => Promise<Database>) => void

function onPglite(name: string, suite: Suite): void {
  describe(`${name} on PGlite`, () => {
    suite(closedAfterwards(memoryDatabase))
  })
}

function onPostgres(name: string, suite: Suite): void {
  describe.skipIf(postgresStart.kind === "absent")(`${name} ${postgresTitle}`, () => {
    suite(closedAfterwards(async () => openDatabase({ kind: "postgres", url: await newPostgresUrl() })))
  })
}

function onPooler(name: string, suite: Suite): void {
  describe.skipIf(poolerIsAbsent)(`${name} ${poolerTitle}`, () => {
    const open = async () =>
      openDatabase({ kind: "postgres", url: throughPooler(await newPostgresUrl()), pooling: "transaction" })
    suite(closedAfterwards(open))
  })
}

function closedAfterwards(open: () => Promise<Database>): () => Promise<Database> {
  const opened: Database[] = []
  afterAll(async () => {
    await Promise.all(opened.map(database => database.close()))
  })
  return async () => {
    const database = await open()
    opened.push(database)
    return database
  }
}

/** Describes a suite of the store, or of what happens at once, on both databases. `open` gives a new, migrated database each time. */
export function bothDatabases(name: string, suite: Suite): void {
  onPglite(name, suite)
  onPostgres(name, suite)
}

/** The same, and through a pooler: for what depends on how a transaction begins and ends. */
export function bothAndPooled(name: string, suite: Suite): void {
  bothDatabases(name, suite)
  onPooler(name, suite)
}

/**
 * Describes a suite of what the service answers, which is the same on all databases: on those that RUNSEAL_DATABASES names, `pglite`,
 * `postgres`, `pooled` or `both`; the first when it is absent. `npm run test:postgres` is the second.
 */
export function eachDatabase(name: string, suite: Suite): void {
  const chosen = process.env.RUNSEAL_DATABASES ?? "pglite"
  if (chosen === "pglite" || chosen === "both") onPglite(name, suite)
  if (chosen === "postgres" || chosen === "both") onPostgres(name, suite)
  if (chosen === "pooled") onPooler(name, suite)
}
