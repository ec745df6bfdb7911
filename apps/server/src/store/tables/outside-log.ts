/**
 * Which entries outside logs hold. The log's own entries are the outbox: they commit with their records, and for each outside
 * log a cursor goes over them in order. Shared by all processes of a database.
 */
import type { Database } from "../driver/database.ts"
import { StoreError } from "../driver/errors.ts"
import { insertRows } from "../driver/insert-rows.ts"
import type { Source } from "../driver/session.ts"
import type { OutsideEntryRow, OutsideLogRow, TimestampAuthorityRow } from "../outside-schema.ts"
import { lockHead } from "./log-store.ts"

/** What is known of an outside log before any entry is in it. */
export type NewOutsideLog = Pick<OutsideLogRow, "log_id" | "host" | "spki" | "valid_from">

/**
 * Names an outside log, once: from then on it gets every new entry. One that was named before goes on where it stood; its host is
 * that of the entries it holds, and may be named anew as long as it holds none. Other logs that hold none are forgotten, since
 * what is named now stands in their place: a new one begins where the first of them did.
 */
export function nameOutsideLog(db: Database, { log_id, host, spki, valid_from }: NewOutsideLog): Promise<void> {
  return db.transaction(async tx => {
    const { size } = await lockHead(tx)
    const forgotten = await tx.sql<Pick<OutsideLogRow, "first_index">[]>`
      delete from outside_log where next_index = first_index and log_id <> ${log_id} returning first_index`
    const first = Math.min(size, ...forgotten.map(({ first_index }) => first_index))
    await tx.sql`
      insert into outside_log (log_id, host, spki, valid_from, first_index, next_index, fault, failing_since, holder, lease_until)
      values (${log_id}, ${host}, ${spki}, ${valid_from}, ${first}, ${first}, '', 0, '', 0)
      on conflict (log_id) do update set host = excluded.host where outside_log.next_index = outside_log.first_index`
  })
}

/** Every outside log that holds entries, and the one named last, by rising log id. */
export function listOutsideLogs(source: Source): Promise<readonly OutsideLogRow[]> {
  return source.read(async ({ sql }) => sql<OutsideLogRow[]>`select * from outside_log order by log_id collate "C"`)
}

/**
 * Takes or renews the lease under which one process at a time delivers to a log; undefined while another has it. Time is the
 * database's. The lease keeps others from asking in vain: that an entry is stored once and in order, `keepOutside` sees to.
 */
export async function leaseOutside(
  db: Database,
  logId: string,
  holder: string,
  leaseMs: number,
): Promise<OutsideLogRow | undefined> {
  const [row] = await db.write(
    ({ sql }) => sql<OutsideLogRow[]>`
    update outside_log set holder = ${holder}, lease_until = (extract(epoch from clock_timestamp()) * 1000)::bigint + ${leaseMs}::bigint
    where log_id = ${logId}
      and (holder = ${holder} or lease_until < (extract(epoch from clock_timestamp()) * 1000)::bigint)
    returning *`,
  )
  return row
}

/** Gives the lease back, so that another process need not wait for its end. */
export async function endLease(db: Database, logId: string, holder: string): Promise<void> {
  await db.write(
    ({ sql }) => sql`update outside_log set lease_until = 0 where log_id = ${logId} and holder = ${holder}`,
  )
}

/**
 * Stores entries and moves the cursor past them.
 * @param entries those that follow the cursor, in order
 * @param authority who stamped them, where the log does not say their time
 * @throws StoreError "conflict" when another process has moved it meanwhile
 */
export function keepOutside(
  db: Database,
  logId: string,
  entries: readonly OutsideEntryRow[],
  authority?: TimestampAuthorityRow,
): Promise<void> {
  return db.transaction(async tx => {
    const [first] = entries
    if (first === undefined) return
    const moved = await tx.sql`
      update outside_log set next_index = ${first.log_index + entries.length}, fault = '', failing_since = 0
      where log_id = ${logId} and next_index = ${first.log_index}`
    if (moved.count !== 1) throw new StoreError("conflict")
    await insertRows(tx, "outside_entry", ["log_index", "log_id", "entry", "timestamp"], entries)
    if (authority === undefined) return
    const { chain_id, uri, certificates } = authority
    await tx.sql`
      insert into timestamp_authority (chain_id, uri, certificates) values (${chain_id}, ${uri}, ${certificates})
      on conflict (chain_id) do update set uri = excluded.uri where timestamp_authority.uri <> excluded.uri`
  })
}

/** Notes that the entry at the cursor could not be delivered. @param at milliseconds since the epoch */
export async function noteOutsideFault(db: Database, logId: string, fault: string, at: number): Promise<void> {
  await db.write(
    ({ sql }) => sql`
    update outside_log set fault = ${fault},
      failing_since = case when failing_since = 0 then ${at}::bigint else failing_since end
    where log_id = ${logId}`,
  )
}

/** What outside logs hold of these entries, by rising log id and index. */
export function readOutside(source: Source, indices: readonly number[]): Promise<readonly OutsideEntryRow[]> {
  return source.read(
    async ({ sql }) => sql<OutsideEntryRow[]>`
      select log_index, log_id, entry, timestamp from outside_entry
      where log_index in (select value::bigint from json_array_elements_text(${JSON.stringify(indices)}::text::json))
      order by log_id collate "C", log_index`,
  )
}

/** Every timestamp authority that ever stamped an entry, by rising id: what it stamped stays verifiable. */
export function listAuthorities(source: Source): Promise<readonly TimestampAuthorityRow[]> {
  return source.read(
    async ({ sql }) => sql<TimestampAuthorityRow[]>`select * from timestamp_authority order by chain_id collate "C"`,
  )
}
