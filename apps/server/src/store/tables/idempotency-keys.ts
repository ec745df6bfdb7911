/**
 * Idempotency keys: which charge and which record each has. A row is written in the transaction that commits the charge or the
 * record, so that either both are there or neither. The hash of a key covers endpoint and owner. The statements that a request
 * waits for are hand-written: one for a whole batch of keys, which it takes as a JSON text.
 */
import { index, pgTable, text } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import type { Source, Tx } from "../driver/session.ts"
import { number, type RowOf } from "./column-types.ts"
import { sweepRows } from "./sweep-rows.ts"

/** The charge that was made for an idempotency key, and the record that was sealed under it. */
export const idempotency_key = pgTable(
  "idempotency_key",
  {
    /** SHA-256 of owner, endpoint and key, 64 hex digits: what a caller chose as a key is not stored. */
    key_hash: text().primaryKey(),
    /** SHA-256 of the request that was charged or sealed under the key, 64 hex digits; "" before either. */
    request_digest: text().notNull(),
    /** The charge of the key's run; "" = none. */
    charge_id: text().notNull(),
    /** Number of the run or id of the attestation; "" before one is sealed. */
    record_id: text().notNull(),
    /** Milliseconds since the epoch: the start of the row's retention. */
    kept_at: number(),
  },
  table => [index("idempotency_key_kept").on(table.kept_at)],
)

type IdempotencyKeyRow = RowOf<typeof idempotency_key>

/** A request under a key: neither says what the key or the body was. */
export type KeyClaim = Pick<IdempotencyKeyRow, "key_hash" | "request_digest">

/** The state of a key. */
export type KeyState = Omit<IdempotencyKeyRow, "kept_at">

/**
 * The states of these keys; a key that was never used, or whose retention has ended, has no row. The hashes are compared as an array, here and
 * in `updateKeys`: then the index is used, where a planner that joins them as rows of an unknown number reads every key.
 */
export function findIdempotencyKeys(source: Source, hashes: readonly string[]): Promise<readonly KeyState[]> {
  return source.read(
    async ({ sql }) => sql<KeyState[]>`
      select key_hash, request_digest, charge_id, record_id from idempotency_key
      where key_hash = any(array(select json_array_elements_text(${JSON.stringify(hashes)}::text::json)))`,
  )
}

/**
 * Locks the keys of these claims until the transaction ends, always in the same order, and makes those that are missing: one
 * statement for both, and none for no claims.
 * @param at milliseconds since the epoch
 */
export async function lockKeys(
  { sql }: Tx,
  claims: readonly KeyClaim[],
  at: number,
): Promise<ReadonlyMap<string, KeyState>> {
  if (claims.length === 0) return new Map()
  const rows = await sql<KeyState[]>`
    insert into idempotency_key as stored (key_hash, request_digest, charge_id, record_id, kept_at)
    select distinct key_hash collate "C", '', '', '', ${at}::bigint
    from json_to_recordset(${JSON.stringify(claims)}::text::json) as claimed(key_hash text)
    order by 1
    on conflict (key_hash) do update set record_id = stored.record_id
    returning key_hash, request_digest, charge_id, record_id`
  return new Map(rows.map(row => [row.key_hash, row]))
}

/** Writes the states of keys that this transaction has locked. */
export async function updateKeys({ sql }: Tx, keys: readonly IdempotencyKeyRow[]): Promise<void> {
  if (keys.length === 0) return
  await sql`
    with next as (
      select * from json_to_recordset(${JSON.stringify(keys)}::text::json)
        as state(key_hash text, request_digest text, charge_id text, record_id text, kept_at bigint)
    )
    update idempotency_key set request_digest = next.request_digest, charge_id = next.charge_id,
      record_id = next.record_id, kept_at = next.kept_at
    from next
    where idempotency_key.key_hash = next.key_hash
      and idempotency_key.key_hash = any(array(select key_hash from next))`
}

/** Removes at most `limit` keys whose retention started at `before` or earlier; the records they name stay. */
export async function sweepKeys(db: Database, before: number, limit: number): Promise<void> {
  await db.write(({ orm }) => sweepRows(orm, idempotency_key.key_hash, idempotency_key.kept_at, before, limit))
}
