/**
 * Statements of the trial by which readiness finds out whether a batch could be committed, and what the database shows of other processes
 * that seal. Decision 0113.
 */
import type { Session, Tx } from "../driver/session.ts"
import { lockHead } from "./log-store.ts"

/** Longest wait for the head's lock, and for that of each table, in milliseconds: a batch waits longer. */
const LOCK_WAIT_MS = 1000
/** Disk space that a batch may need, in rows of about a kilobyte, which are not compressed. */
const ROOM_ROWS = 2000
const TABLES = [
  "log_entry",
  "log_tile",
  "document",
  "run",
  "run_term",
  "attestation",
  "tenant",
  "tenant_window",
  "token_movement",
  "permit",
  "admin_event",
  "outcome_count",
  "idempotency_key",
] as const

/** Takes the locks of a batch and the room that it may need, and writes no row. The caller rolls it back. */
export async function writeAsABatch(tx: Tx): Promise<void> {
  await tx.sql`select set_config('lock_timeout', ${String(LOCK_WAIT_MS)}::text, true)`
  await lockHead(tx)
  for (const table of TABLES) await tx.sql.unsafe(`insert into ${table} select * from ${table} where false`)
  // A new table, since the other tables may have free pages on a full disk.
  await tx.sql.unsafe(
    `create table room_looked_for as select repeat('x', 1000) as filler from generate_series(1, ${ROOM_ROWS})`,
  )
}

/** Whether a transaction of this database waits too long: for the confirmation of its commit, or with the log's lock. */
export type Waits = { readonly unconfirmed: boolean; readonly locked: boolean }

/** What sessions of this user wait for, on PostgreSQL. */
export async function findWaits({ sql }: Session): Promise<Waits> {
  const [found] = await sql<{ waiting: boolean | null; locked: boolean | null }[]>`
    select bool_or(wait_event = 'SyncRep' and query_start < clock_timestamp() - interval '3 s') as waiting,
      bool_or(xact_start < clock_timestamp() - interval '5 s' and pid in (
        select pid from pg_locks where relation = 'log_head'::regclass and granted
          and mode in ('RowShareLock', 'RowExclusiveLock', 'AccessExclusiveLock', 'ExclusiveLock'))) as locked
    from pg_stat_activity where datname = current_database() and xact_start is not null`
  return { unconfirmed: found?.waiting === true, locked: found?.locked === true }
}
