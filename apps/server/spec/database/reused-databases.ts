/**
 * Databases in memory whose PGlite is started once in a process of tests: a start takes a second of a processor, emptying a database some
 * milliseconds. A suite that closes its database closes its connection; the next suite gets a new connection to the database, as empty as a new one.
 */
import { createConnectionPool } from "../../src/store/driver/connection-pool.ts"
import { type Database, databaseOver, readOrMakeTemplate } from "../../src/store/driver/database.ts"
import { expand } from "../../src/store/driver/pglite/cluster-archive.ts"
import { type PgliteThread, startPglite } from "../../src/store/driver/pglite/pglite-thread.ts"
import { pgliteClient } from "../../src/store/driver/postgres-client.ts"
import "./compiled-pglite.ts"

/** Suites that one database serves, at most: its write-ahead log is in memory, and grows. */
const USES_PER_DATABASE = 40
/** Databases that wait for their next suite, at most. */
const MAX_IDLE = 3

type Reused = {
  readonly thread: PgliteThread
  /** What a new database is like. */
  readonly schema: string
  /** Tables with rows that the migrations wrote. */
  readonly initial: readonly string[]
  uses: number
}

const idle: Reused[] = []

/** A database in memory that is as a new one. The suite that gets it closes it. */
export async function memoryDatabase(): Promise<Database> {
  const reused = idle.pop() ?? (await startReused())
  reused.uses++
  let given: Promise<void> | undefined
  // A service closes its database, and so does the suite that opened it.
  return connect(reused.thread, () => (given ??= giveBack(reused)))
}

const connect = (thread: PgliteThread, ended: () => Promise<void>): Database =>
  databaseOver("memory", createConnectionPool(1, pgliteClient(thread.connect)), ended)

async function startReused(): Promise<Reused> {
  const thread = await startPglite({ kind: "memory", template: expand(await readOrMakeTemplate()) })
  return onConnection(thread, async db => {
    const initial = await filledTables(db)
    const copies = initial.map(table => `create table initial.${table} as table public.${table}`)
    await run(db, ["create schema initial", ...copies])
    return { thread, schema: await schemaOf(db), initial, uses: 0 }
  })
}

async function onConnection<T>(thread: PgliteThread, work: (db: Database) => Promise<T>): Promise<T> {
  const db = connect(thread, async () => {})
  return work(db).finally(db.close)
}

/** One whose schema a test changed, or that was lost, is ended. */
async function giveBack(reused: Reused): Promise<void> {
  const isFull = reused.uses >= USES_PER_DATABASE || idle.length >= MAX_IDLE
  const isEmpty = !isFull && (await onConnection(reused.thread, db => emptied(db, reused)).catch(() => false))
  if (isEmpty) idle.push(reused)
  else await reused.thread.close()
}

async function emptied(db: Database, { schema, initial }: Reused): Promise<boolean> {
  if ((await schemaOf(db)) !== schema) return false
  const filled = await filledTables(db)
  await run(db, [
    ...(filled.length === 0 ? [] : [`truncate ${filled.join(", ")} cascade`]),
    ...(await usedSequences(db)).map(sequence => `alter sequence ${sequence} restart`),
    ...initial.map(table => `insert into public.${table} overriding system value select * from initial.${table}`),
  ])
  return true
}

async function run(db: Database, statements: readonly string[]): Promise<void> {
  await db.transaction(async ({ sql }) => {
    for (const statement of statements) await sql.unsafe(statement)
  })
}

/** Tables, columns, triggers, constraints and functions. */
async function schemaOf(db: Database): Promise<string> {
  const [row] = await db.sql<{ readonly schema: string }[]>`
    select concat_ws(' ',
      (select string_agg(oid || relname, ',' order by oid) from pg_class where relnamespace = 'public'::regnamespace),
      (select string_agg(attrelid || attname || atttypid || attisdropped, ',' order by attrelid, attnum)
        from pg_attribute where attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)),
      (select string_agg(oid::text, ',' order by oid) from pg_trigger),
      (select string_agg(oid::text, ',' order by oid) from pg_constraint),
      (select string_agg(oid::text, ',' order by oid) from pg_proc where pronamespace = 'public'::regnamespace)) as schema`
  return row?.schema ?? ""
}

async function filledTables(db: Database): Promise<readonly string[]> {
  const names = await db.sql<{ readonly name: string }[]>`
    select quote_ident(relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`
  const queries = names.map(({ name }) => `select '${name}' as name where exists (select from public.${name})`)
  const filled = await db.read(({ sql }) => sql.unsafe<{ readonly name: string }[]>(queries.join(" union all ")))
  return filled.map(({ name }) => name)
}

async function usedSequences(db: Database): Promise<readonly string[]> {
  const found = await db.sql<{ readonly name: string }[]>`
    select quote_ident(sequencename) as name from pg_sequences where last_value is not null`
  return found.map(({ name }) => name)
}
