/** Migrates a database to the schema of this release, before anything else uses it, and refuses one whose records have another format. */
import { fileURLToPath } from "node:url"
import { BUNDLE_KIND } from "@runseal/core/vocabulary/versions"
import { type MigrationMeta, readMigrationFiles } from "drizzle-orm/migrator"
import { StartupError } from "../../options/startup-error.ts"
import type { Connection, StoreClient } from "./connection-pool.ts"
import { runTransaction, type Tx } from "./session.ts"
import { StoreError } from "./store-errors.ts"

const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url))

/** Key of the advisory lock under which one process at a time migrates: "runseal" in ASCII, read as a number. */
const MIGRATION_LOCK = 0x72756e7365616c

/** The migrations of this release, oldest first, as drizzle-kit wrote them. */
export function knownMigrations(): readonly MigrationMeta[] {
  return readMigrationFiles({ migrationsFolder: MIGRATIONS })
}

/** @throws StartupError when no migration was ever applied; nothing is made */
export async function refuseUnmigrated(sql: StoreClient): Promise<void> {
  const [found] = await sql<{ made: boolean }[]>`select to_regclass('migration') is not null as made`
  if (found?.made !== true)
    throw new StartupError(
      "There is no deployment in the database: check --database-url; the first start of the service makes one.",
    )
}

/**
 * For a database that is reached through a pooler, which has its own opinion of how long a statement may take.
 * @param migrated whether the database was migrated just now, past the pooler
 * @throws StartupError when a migration is missing, or the records have another format; nothing is made
 */
export async function refuseOutdated(sql: StoreClient, migrated: boolean): Promise<void> {
  const [found] = await sql<{ made: boolean }[]>`select to_regclass('migration') is not null as made`
  const applied = found?.made === true ? await readApplied(sql) : []
  const known = knownMigrations()
  refuseForeignHistory(applied, known)
  if (applied.length === known.length) return refuseOtherRecords(sql)
  throw new StartupError(
    migrated
      ? "--database-direct-url leads to another database than --database-url."
      : "The database must be brought up to date, which is not done through a pooler: give --database-direct-url, the address of PostgreSQL itself.",
  )
}

const readApplied = (sql: Pick<StoreClient, "unsafe">): Promise<readonly Hashed[]> =>
  sql.unsafe<{ hash: string }[]>("select hash from migration order by step")

/**
 * Applies the missing migrations, all or none. A process that starts at the same time waits for the first.
 * @throws StartupError when the database was made by a newer release or by other migrations, refuses these, or holds records of another format
 */
export async function migrateDatabase(connection: Connection): Promise<void> {
  try {
    await runTransaction(connection, applyMissing)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const state = error.sqlstate === undefined ? "" : ` (SQLSTATE ${error.sqlstate})`
    throw new StartupError(`The database could not be brought up to date${state}. ${adviceOn(error)}`)
  }
}

/** What the operator does about it. SQLSTATEs: PostgreSQL documentation "Error Codes". */
function adviceOn({ sqlstate = "", message }: StoreError): string {
  if (["55P03", "57014"].includes(sqlstate))
    return "A step waited too long, for a lock of another session for example: end that session, or wait for it, and start again."
  // No right to the schema, and no schema.
  return ["42501", "3F000"].includes(sqlstate) ? "Its user must own it." : message
}

async function applyMissing({ sql }: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK}::bigint)`
  await sql`create table if not exists migration (step bigint primary key, hash text not null)`
  const applied = await readApplied(sql)
  const known = knownMigrations()
  refuseForeignHistory(applied, known)
  // Before the schema is changed where the mark is there already: a step may not suit the rows of other records.
  if (known.slice(0, applied.length).some(makesMark)) await refuseOtherRecords(sql)
  for (const [step, migration] of known.entries()) {
    if (step < applied.length) continue
    for (const statement of migration.sql) await sql.unsafe(statement)
    await sql`insert into migration (step, hash) values (${step}, ${migration.hash})`
  }
  // Before the migrations are committed, so that the release that made the records can still start.
  await refuseOtherRecords(sql)
}

/** Whether a migration adds the mark that names the format of the records. */
const makesMark = ({ sql }: MigrationMeta): boolean => sql.some(statement => statement.includes('"record_format"'))

type Hashed = { readonly hash: string }

function refuseForeignHistory(applied: readonly Hashed[], known: readonly Hashed[]): void {
  const shared = Math.min(applied.length, known.length)
  if (applied.slice(0, shared).some(({ hash }, step) => hash !== known[step]?.hash)) {
    throw new StartupError("The database was not made by this release's migrations; start the release that made it.")
  }
  if (applied.length > known.length) {
    throw new StartupError("The database was made by a newer release; start that release or a newer one.")
  }
}

// The format of the records in a database, which its deployment is marked with. Decision 0145.

/**
 * Changes with every change of a sealed format after which stored records are not read any more, also where the bundle keeps its name:
 * what follows the name says which.
 */
export const RECORD_FORMAT: string = `${BUNDLE_KIND} 2026-11-23 permits`

/** @throws StartupError for a deployment whose records this release does not read */
async function refuseOtherRecords(sql: Tx["sql"]): Promise<void> {
  const [found] = await sql<{ record_format: string }[]>`select record_format from deployment`
  if (found === undefined || found.record_format === RECORD_FORMAT) return
  throw new StartupError(
    "The records in this database have another format than this release reads: start the release that made them, or give this one a new data folder or database.",
  )
}
