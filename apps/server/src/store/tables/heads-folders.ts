/** Which database this is, and which folders of heads were held against it. Decision 0110. */
import { asc, eq } from "drizzle-orm"
import { boolean, pgTable, text } from "drizzle-orm/pg-core"
import { StartupError } from "../../options/startup-error.ts"
import type { Session, Source, Tx } from "../driver/session.ts"
import { StoreError, storeErrorFrom } from "../driver/store-errors.ts"
import { number, type RowOf } from "./column-types.ts"

/** A folder of heads beside the keys: what its processes remember is asked of before the log goes on in another database. */
export const heads_folder = pgTable("heads_folder", {
  /** 32 hex digits. */
  folder_id: text().primaryKey(),
  /** For the operator: machine and path. */
  label: text().notNull(),
  /** Milliseconds since the epoch. */
  registered_at: number(),
  /** PostgreSQL's system identifier, in decimal, of the database that was last found to hold what the folder remembers. */
  system_id: text().notNull(),
  timeline: number(),
  /** Of the log's head, in decimal: object identifier of the database times 2^32 plus that of the table. */
  table_id: text().notNull(),
  term: number(),
  /** Entries of the log then. */
  size: number(),
  /** Whether its processes committed with a synchronous standby then. */
  synchronous: boolean().notNull(),
  /** Whether its last process has stopped, and remembered nothing beyond `size`. */
  closed: boolean().notNull(),
})

export type HeadsFolderRow = RowOf<typeof heads_folder>

export type DatabaseFacts = {
  /** PostgreSQL's system identifier, in decimal: another one is another cluster. */
  readonly system_id: string
  /** Rises when a standby is promoted; 0 while the server is a standby. */
  readonly timeline: number
  /** How far the write-ahead log is on disk, in bytes: it never goes back but in an older copy; 0 while the server is a standby. */
  readonly position: number
  /** Entries of the log. A restored copy may have as long a write-ahead log as was read before, and has a shorter log. */
  readonly log_size: number
  /** Of the table of the log's head, in decimal: another database of the cluster has another one, and so has a restored dump. */
  readonly table_id: string
  readonly standby: boolean
  /** Whether a commit waits until a standby has it on its disk, as far as this connection's settings go. */
  readonly synchronous: boolean
}

/** SQLSTATEs that say that the user may not ask, or that the server has no such thing. */
const NOT_TOLD = /^(42501|42883|0A000)$/
const MAY_NOT_ASK =
  "The database does not say which one it is: its user needs EXECUTE on pg_control_system, pg_walfile_name, pg_current_wal_lsn, pg_current_wal_flush_lsn and pg_is_in_recovery."

/**
 * Which database the connection leads to. The timeline is that of the write-ahead log: the control file tells of a promotion
 * only with the next checkpoint.
 * @throws StartupError with what is missing when the user may not ask, StoreError
 */
export async function readDatabaseFacts({ sql }: Session): Promise<DatabaseFacts> {
  try {
    const [facts] = await sql<DatabaseFacts[]>`
      select (select system_identifier::text from pg_control_system()) as system_id, pg_is_in_recovery() as standby,
        case when pg_is_in_recovery() then 0
          else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint end as timeline,
        case when pg_is_in_recovery() then 0
          else (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint end as position,
        (select size from log_head) as log_size,
        (select oid::bigint * 4294967296::numeric + 'log_head'::regclass::oid::bigint
          from pg_database where datname = current_database())::text as table_id,
        current_setting('synchronous_standby_names') <> ''
          and current_setting('synchronous_commit') in ('on', 'remote_apply') as synchronous`
    if (facts === undefined) throw new StoreError("corrupt")
    return facts
  } catch (thrown) {
    const error = storeErrorFrom(thrown)
    if (error instanceof StoreError && NOT_TOLD.test(error.sqlstate ?? "")) throw new StartupError(MAY_NOT_ASK)
    throw error
  }
}

/** Whether the database is a standby now. */
export async function isStandby({ sql }: Session): Promise<boolean> {
  const [row] = await sql<{ standby: boolean }[]>`select pg_is_in_recovery() as standby`
  return row?.standby === true
}

/** All folders, oldest first. */
export function readHeadsFolders(source: Source): Promise<readonly HeadsFolderRow[]> {
  const { registered_at, folder_id } = heads_folder
  return source.read(({ orm }) => orm.select().from(heads_folder).orderBy(asc(registered_at), asc(folder_id)))
}

/** Registers folders, or stores what they are held to now. */
export async function putHeadsFolders({ orm }: Tx, rows: readonly HeadsFolderRow[]): Promise<void> {
  for (const row of rows) {
    const { folder_id: _folder, registered_at: _registered, ...held } = row
    await orm.insert(heads_folder).values(row).onConflictDoUpdate({ target: heads_folder.folder_id, set: held })
  }
}

/** @returns whether there was such a folder */
export async function removeHeadsFolder({ orm }: Tx, folder_id: string): Promise<boolean> {
  const { count } = await orm.delete(heads_folder).where(eq(heads_folder.folder_id, folder_id))
  return count === 1
}
