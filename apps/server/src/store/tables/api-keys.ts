/** API keys. Rows are added and marked, never deleted: one row locks the deployment for ever. */
import type { KeyScope, KeyTier } from "@runseal/core/wire/key-requests"
import { and, asc, eq, sql as fragment, getTableColumns, inArray, lte } from "drizzle-orm"
import { check, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core"
import type { Database } from "../driver/database.ts"
import type { Sink, Source } from "../driver/session.ts"
import { bytes, number, type RowOf } from "./column-types.ts"
import { tenant } from "./tenants.ts"

/** An API key. Of its secret only the SHA-256 is stored. */
export const api_key = pgTable(
  "api_key",
  {
    /** 1, 2, 3 …; 0 is the anonymous caller. */
    key_id: number().primaryKey(),
    name: text().notNull(),
    /** 32 bytes. */
    secret_hash: bytes().notNull().unique(),
    scope: text().$type<KeyScope>().notNull(),
    tier: text().$type<KeyTier>().notNull(),
    /** Milliseconds since the epoch. */
    created_at: number(),
    /** Milliseconds since the epoch; 0 = never used. */
    last_used_at: number(),
    /** Milliseconds since the epoch; 0 = not revoked. */
    revoked_at: number(),
    /** Who made and revoked it, as `admin_event.actor`; "" for nobody, and for a key of an earlier release. */
    created_by: text().notNull().default(""),
    revoked_by: text().notNull().default(""),
    /** The same of its last rotation; 0 = none. */
    rotated_at: number().default(0),
    /** Hash of the secret before the last rotation, which works until then; no bytes and 0 where there is none. */
    old_secret_hash: bytes().notNull().default(fragment`''::bytea`),
    overlap_until: number().default(0),
    /** For operators. */
    notes: text().notNull().default(""),
    /** Milliseconds since the epoch, from which on it is refused; 0 = never. */
    expires_at: number().default(0),
    /** Its own limits; -1 for those of the deployment. */
    run_token_budget: number().default(-1),
    window_token_budget: number().default(-1),
    rate_limit: number().default(-1),
    /** Ids of the keys whose runs an auditor reads, as a JSON list; "" for all. */
    reads: text().notNull().default(""),
  },
  table => [
    check("api_key_secret_hash", fragment`octet_length(${table.secret_hash}) = 32`),
    check("api_key_old_secret_hash", fragment`octet_length(${table.old_secret_hash}) in (0, 32)`),
    uniqueIndex("api_key_old_secret")
      .on(table.old_secret_hash)
      .where(fragment`octet_length(${table.old_secret_hash}) = 32`),
    check("api_key_scope", fragment`${table.scope} in ('admin', 'customer', 'auditor')`),
    check("api_key_tier", fragment`${table.tier} in ('trial', 'production')`),
  ],
)

export type ApiKeyRow = RowOf<typeof api_key>

/** Key of the advisory lock under which one key at a time is made: "rskmint" in ASCII, read as a number. */
const MINT_LOCK = 0x72736b6d696e74

/** Who makes a key: an admin key by its id, the anonymous caller of open mode, or the operator at the machine. */
export type Minter =
  | { readonly kind: "admin"; readonly key_id: number }
  | { readonly kind: "anonymous" }
  | { readonly kind: "operator" }

type NewKey = Pick<ApiKeyRow, "name" | "scope" | "tier" | "created_at"> & HashInHex

/** SHA-256 of the secret. */
type HashInHex = { readonly secret_hash: string }

/**
 * Stores a key under the next number, 1, 2, 3 … without a gap. The minter's right is checked when the key is stored, not at the start
 * of the request: an admin key has it as long as it is not revoked, the anonymous caller as long as there is no key.
 * @returns the key's id; undefined when the minter may not, and then nothing was stored
 */
export function insertKey(db: Database, key: NewKey, minter: Minter): Promise<number | undefined> {
  // Hand-written: number, check and row are one statement, with a condition on all rows together.
  const admin = minter.kind === "admin" ? minter.key_id : 0
  return db.transaction(async ({ sql }) => {
    await sql`select pg_advisory_xact_lock(${MINT_LOCK}::bigint)`
    const [made] = await sql<Pick<ApiKeyRow, "key_id">[]>`
      insert into api_key (key_id, name, secret_hash, scope, tier, created_at, last_used_at, revoked_at)
      select coalesce(max(key_id), 0) + 1, ${key.name}::text, decode(${key.secret_hash}, 'hex'), ${key.scope}::text,
        ${key.tier}::text, ${key.created_at}::bigint, 0, 0
      from api_key
      having case ${minter.kind}::text
        when 'operator' then true
        when 'anonymous' then count(*) = 0
        else coalesce(bool_or(key_id = ${admin}::bigint and scope = 'admin' and revoked_at = 0), false)
      end
      returning key_id`
    return made?.key_id
  })
}

/** Whether a key was ever made. Once true it stays true. */
export function hasKeys(source: Source): Promise<boolean> {
  return source.read(async ({ orm }) => {
    const { key_id } = api_key
    return (await orm.select({ key_id }).from(api_key).limit(1)).length > 0
  })
}

/** A key that is not revoked. */
export type ActiveKey = Pick<ApiKeyRow, "key_id" | "name" | "scope" | "tier" | "last_used_at"> & HashInHex

/** The keys of these hashes (hex, at most a batch of them) that are not revoked. By hand: every request asks it. */
export function findActiveKeys(source: Source, hashes: readonly string[]): Promise<readonly ActiveKey[]> {
  return source.read(
    async ({ sql }) => sql<ActiveKey[]>`
      select key_id, name, scope, tier, last_used_at, encode(secret_hash, 'hex') as secret_hash from api_key
      where revoked_at = 0
        and secret_hash in (select decode(json_array_elements_text(${JSON.stringify(hashes)}::text::json), 'hex'))`,
  )
}

/** A key as administrators see it. */
export type KeyFacts = Omit<ApiKeyRow, "secret_hash"> & { readonly run_count: number }

/** All keys, oldest first. The number of runs is that of the tenant's chain. */
export function listKeys(source: Source): Promise<readonly KeyFacts[]> {
  const { secret_hash: _, ...facts } = getTableColumns(api_key)
  const run_count = fragment<number>`coalesce(${tenant.run_count}, 0)`.as("run_count")
  return source.read(({ orm }) =>
    orm
      .select({ ...facts, run_count })
      .from(api_key)
      .leftJoin(tenant, eq(tenant.owner, api_key.key_id))
      .orderBy(asc(api_key.key_id)),
  )
}

/**
 * Revokes a key; one that is revoked keeps its first time. Its open permits are due from then on: the key's row is locked first, so
 * that no permit is opened in between.
 * @returns whether there is such a key
 */
export function revokeKey(db: Pick<Database, "transaction">, keyId: number, nowMs: number): Promise<boolean> {
  const { revoked_at } = api_key
  const first = fragment`case when ${revoked_at} = 0 then ${nowMs}::bigint else ${revoked_at} end`
  return db.transaction(async ({ orm, sql }) => {
    const { count } = await orm.update(api_key).set({ revoked_at: first }).where(eq(api_key.key_id, keyId))
    await sql`
      with due as (
        select permit_id from permit where owner = ${keyId}::bigint and state = 'open'
        order by permit_id collate "C" for update
      )
      update permit set due_at = 0 from due where permit.permit_id = due.permit_id`
    return count === 1
  })
}

/**
 * Writes that keys were used, unless that was written less than `everyMs` ago. A row that another process has locked is skipped, so
 * that there is no wait for a lock.
 */
export async function noteUses(sink: Sink, keyIds: readonly number[], nowMs: number, everyMs: number): Promise<void> {
  const { key_id, last_used_at } = api_key
  const due = and(inArray(key_id, [...keyIds]), lte(last_used_at, nowMs - everyMs))
  await sink.write(({ orm }) => {
    const free = orm.select({ key_id }).from(api_key).where(due).for("update", { skipLocked: true })
    return orm.update(api_key).set({ last_used_at: nowMs }).where(inArray(key_id, free))
  })
}
