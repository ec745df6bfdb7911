/** Puts tables of a running service back to what they held before, as when a standby that lagged takes its database's place. */
import type { Database } from "../../src/store/driver/database.ts"

/** In an order in which they can be emptied, back to front. */
const TABLES = ["tenant", "log_head", "log_entry", "log_tile", "run"] as const

export const WITH_PERMITS = [...TABLES, "permit"] as const
export const WITH_KEYS = [
  ...TABLES,
  "api_key",
  "session",
  "publication",
  "share",
  "admin_event",
  "outcome_count",
  "run_term",
] as const

const inOneTransaction = (db: Database, statements: readonly string[]): Promise<void> =>
  db.transaction(async ({ sql }) => {
    for (const statement of statements) await sql.unsafe(statement)
  })

/** Keeps what the tables hold under another name. */
export const keep = (db: Database, name: string, tables: readonly string[] = TABLES): Promise<void> =>
  inOneTransaction(
    db,
    tables.map(table => `create table ${name}_${table} as table ${table}`),
  )

/** Restores the tables from the copy. */
export const putBack = (db: Database, name: string, tables: readonly string[] = TABLES): Promise<void> =>
  inOneTransaction(db, [
    ...tables.toReversed().map(table => `delete from ${table}`),
    ...tables.map(table => `insert into ${table} select * from ${name}_${table}`),
  ])
