/**
 * Which entries outside logs hold. The log's own entries are the outbox: they commit with their records, and for each outside
 * log a cursor goes over them in order. Shared by all processes of a database.
 */
import { and, eq, sql as fragment, lt, ne, or } from "drizzle-orm"
import { type AnyPgColumn, pgTable, primaryKey, text } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import { insertRows, type Source } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { number, type RowOf } from "./column-types.ts"
import { lockHead } from "./log-store.ts"

/** A log that is not the service's own and also gets its entries. */
export const outside_log = pgTable("outside_log", {
  /** Base64 of the 32-byte log id. */
  log_id: text().primaryKey(),
  /** Host name in its checkpoints. */
  host: text().notNull(),
  /** Base64 of its key's DER SubjectPublicKeyInfo; what it signed before `valid_from` (Unix seconds) does not count. */
  spki: text().notNull(),
  valid_from: number(),
  /** The first of our entries that it gets. */
  first_index: number(),
  /** The next of our entries that it gets: it holds all before, from the first on. */
  next_index: number(),
  /** Why it does not hold that one yet; "" while nothing failed. */
  fault: text().notNull(),
  /** Since when, in milliseconds since the epoch; 0 while nothing failed. */
  failing_since: number(),
  /** The process that delivers, and until when others leave it to that one: milliseconds of the database's clock. */
  holder: text().notNull(),
  lease_until: number(),
})

/** One of our entries as an outside log holds it. */
export const outside_entry = pgTable(
  "outside_entry",
  {
    log_index: number(),
    log_id: text().notNull(),
    /** RFC 8785 text of its TransparencyLogEntry there. */
    entry: text().notNull(),
    /** Base64 of the RFC 3161 TimeStampResp that says its time; "" where the log itself says it. */
    timestamp: text().notNull().default(""),
  },
  table => [primaryKey({ columns: [table.log_index, table.log_id] })],
)

/** Who stamped entries of outside logs that say no time. */
export const timestamp_authority = pgTable("timestamp_authority", {
  /** SHA-256 over its certificates, lowercase hex. */
  chain_id: text().primaryKey(),
  /** Address at which it is asked. */
  uri: text().notNull(),
  /** Base64 of its certificates in DER, with spaces between them: its own first, the root last. */
  certificates: text().notNull(),
})

export type OutsideLogRow = RowOf<typeof outside_log>
export type OutsideEntryRow = RowOf<typeof outside_entry>
export type TimestampAuthorityRow = RowOf<typeof timestamp_authority>

/** Texts by their bytes, whatever the database's own order is. */
const byBytes = (column: AnyPgColumn) => fragment`${column} collate "C"`

/** Milliseconds of the database's clock. */
const databaseNow = fragment`(extract(epoch from clock_timestamp()) * 1000)::bigint`

/** What is known of an outside log before any entry is in it. */
export type NewOutsideLog = Pick<OutsideLogRow, "log_id" | "host" | "spki" | "valid_from">

/**
 * Names an outside log: from then on it gets every new entry. A log that was named before continues after its last entry; its host
 * may change only as long as it holds no entry. Other logs without entries are deleted, since this one replaces them: a new one
 * starts at the first entry that any of them would have got.
 */
export function nameOutsideLog(db: Database, { log_id, host, spki, valid_from }: NewOutsideLog): Promise<void> {
  return db.transaction(async tx => {
    const { size } = await lockHead(tx)
    const holdsNone = eq(outside_log.next_index, outside_log.first_index)
    const forgotten = await tx.orm
      .delete(outside_log)
      .where(and(holdsNone, ne(outside_log.log_id, log_id)))
      .returning({ first_index: outside_log.first_index })
    const first = Math.min(size, ...forgotten.map(({ first_index }) => first_index))
    const named = { log_id, host, spki, valid_from, first_index: first, next_index: first }
    await tx.orm
      .insert(outside_log)
      .values({ ...named, fault: "", failing_since: 0, holder: "", lease_until: 0 })
      .onConflictDoUpdate({ target: outside_log.log_id, set: { host }, setWhere: holdsNone })
  })
}

/** Every outside log that holds entries, and the one named last, by rising log id. */
export function listOutsideLogs(source: Source): Promise<readonly OutsideLogRow[]> {
  return source.read(({ orm }) => orm.select().from(outside_log).orderBy(byBytes(outside_log.log_id)))
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
  const isFree = or(eq(outside_log.holder, holder), lt(outside_log.lease_until, databaseNow))
  const [row] = await db.write(({ orm }) =>
    orm
      .update(outside_log)
      .set({ holder, lease_until: fragment`${databaseNow} + ${leaseMs}::bigint` })
      .where(and(eq(outside_log.log_id, logId), isFree))
      .returning(),
  )
  return row
}

/** Gives the lease back, so that another process need not wait for its end. */
export async function endLease(db: Database, logId: string, holder: string): Promise<void> {
  const held = and(eq(outside_log.log_id, logId), eq(outside_log.holder, holder))
  await db.write(({ orm }) => orm.update(outside_log).set({ lease_until: 0 }).where(held))
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
    const moved = await tx.orm
      .update(outside_log)
      .set({ next_index: first.log_index + entries.length, fault: "", failing_since: 0 })
      .where(and(eq(outside_log.log_id, logId), eq(outside_log.next_index, first.log_index)))
    if (moved.count !== 1) throw new StoreError("conflict")
    await insertRows(tx, outside_entry, entries)
    if (authority === undefined) return
    const { chain_id, uri } = timestamp_authority
    await tx.orm
      .insert(timestamp_authority)
      .values(authority)
      .onConflictDoUpdate({ target: chain_id, set: { uri: authority.uri }, setWhere: ne(uri, authority.uri) })
  })
}

/** Notes that the entry at the cursor could not be delivered. @param at milliseconds since the epoch */
export async function noteOutsideFault(db: Database, logId: string, fault: string, at: number): Promise<void> {
  const { log_id, failing_since } = outside_log
  const since = fragment`case when ${failing_since} = 0 then ${at}::bigint else ${failing_since} end`
  await db.write(({ orm }) => orm.update(outside_log).set({ fault, failing_since: since }).where(eq(log_id, logId)))
}

/** What outside logs hold of these entries, by rising log id and index. By hand: every answer with a record waits for it. */
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
  const { chain_id } = timestamp_authority
  return source.read(({ orm }) => orm.select().from(timestamp_authority).orderBy(byBytes(chain_id)))
}
