/**
 * Finds out whether a batch could be committed now, by doing what a batch does and rolling it back: the head's lock, a write to
 * each table, room on the disk, a commit that is confirmed, a head beside the keys. Decision 0113.
 */
import type { Database } from "../store/driver/database.ts"
import { IDLE_TRANSACTION_TIMEOUT_MS } from "../store/driver/postgres-client.ts"
import type { Session, Tx } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { lockHead } from "../store/tables/log-store.ts"
import type { SealingHeads } from "./head-guard.ts"

export const REASONS = {
  silent: "The database does not answer.",
  absent: "The database is not available.",
  readOnly: "The database takes no writes.",
  locked: "The log is locked by a transaction that does not end.",
  unconfirmed: "The database does not confirm commits.",
  full: "The disk of the database is full.",
  refused: "The database refuses what sealing writes.",
  heads: "The folder of the heads beside the keys takes no writes.",
} as const
export type Reason = (typeof REASONS)[keyof typeof REASONS]

/** Longest wait for the head's lock, and for that of each table, in milliseconds: a batch waits longer. */
const LOCK_WAIT_MS = 1000
/** Disk space that a batch may need, in rows of about a kilobyte, which are not compressed. */
const ROOM_ROWS = 2000
const TABLES = [
  "log_entry",
  "log_tile",
  "run",
  "run_term",
  "attestation",
  "tenant",
  "tenant_window",
  "token_movement",
  "permit",
  "permit_end",
  "admin_event",
  "outcome_count",
  "idempotency_key",
] as const

/** Thrown to roll the trial back. */
class RolledBack extends Error {}

type TrialParts = {
  readonly db: Pick<Database, "transaction" | "confirm">
  readonly heads: Pick<SealingHeads, "readyToRemember">
  /** Called before each step, with the reason to report if the step gets no answer. */
  readonly trying: (reason: Reason) => void
}

/** @returns why nothing can be sealed; undefined when a batch could be */
export async function whyNotSealed({ db, heads, trying }: TrialParts): Promise<Reason | undefined> {
  trying(REASONS.unconfirmed)
  const refused = await db
    .transaction(async tx => {
      trying(REASONS.locked)
      await doAsABatch(tx)
      throw new RolledBack()
    })
    .catch(reasonOf)
  if (refused !== undefined) return refused
  trying(REASONS.unconfirmed)
  const unconfirmed = await db.confirm().catch(reasonOf)
  if (unconfirmed !== undefined) return unconfirmed
  trying(REASONS.heads)
  return heads.readyToRemember().then(
    () => undefined,
    () => REASONS.heads,
  )
}

async function doAsABatch(tx: Tx): Promise<void> {
  await tx.sql`select set_config('lock_timeout', ${String(LOCK_WAIT_MS)}::text, true)`
  await lockHead(tx)
  for (const table of TABLES) await tx.sql.unsafe(`insert into ${table} select * from ${table} where false`)
  // A new table, since the other tables may have free pages on a full disk.
  await tx.sql.unsafe(
    `create table room_looked_for as select repeat('x', 1000) as filler from generate_series(1, ${ROOM_ROWS})`,
  )
}

function reasonOf(error: unknown): Reason | undefined {
  if (error instanceof RolledBack) return undefined
  if (!(error instanceof StoreError)) return REASONS.refused
  const { code, sqlstate, late } = error
  if (sqlstate === "53100") return REASONS.full
  if (sqlstate === "55P03") return REASONS.locked
  if (sqlstate === "25006") return REASONS.readOnly
  if (late || code === "outcome_unknown") return REASONS.unconfirmed
  return code === "unavailable" ? REASONS.absent : REASONS.refused
}

/**
 * Why another process that seals is waiting, by the database's own tables; undefined when none is. The tables show only the
 * sessions of this user. Ends those that would wait for ever.
 */
export async function waitOfOthers({ sql }: Session): Promise<Reason | undefined> {
  const [found] = await sql<{ waiting: boolean | null; locked: boolean | null; old: boolean | null }[]>`
    select bool_or(wait_event = 'SyncRep' and query_start < clock_timestamp() - interval '3 s') as waiting,
      bool_or(xact_start < clock_timestamp() - interval '5 s' and pid in (
        select pid from pg_locks where relation = 'log_head'::regclass and granted
          and mode in ('RowShareLock', 'RowExclusiveLock', 'AccessExclusiveLock', 'ExclusiveLock'))) as locked,
      bool_or(xact_start < clock_timestamp() - ${IDLE_TRANSACTION_TIMEOUT_MS}::int * interval '1 ms') as old
    from pg_stat_activity where datname = current_database() and xact_start is not null`
  if (found?.old) await endStalled(sql)
  if (found?.waiting) return REASONS.unconfirmed
  return found?.locked ? REASONS.locked : undefined
}

/** A session is ended after this time in the middle of a statement, in milliseconds: a client that runs waits no longer than 8 s for an answer. */
const STALLED_MS = 20_000

/**
 * Ends the sessions of this service whose client stopped in the middle of a statement: `idle_in_transaction_session_timeout` counts between statements
 * only, and `statement_timeout` not while the server waits for the client, so that a process which was suspended there would hold its
 * locks for ever. Decision 0113.
 */
async function endStalled(sql: Session["sql"]): Promise<void> {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = current_user
      and application_name = current_setting('application_name') and state = 'active' and wait_event = 'ClientRead'
      and state_change < clock_timestamp() - ${STALLED_MS}::int * interval '1 ms'`
}
