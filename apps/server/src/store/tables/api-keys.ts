/** API keys, and how much each was used. Rows are added and marked, never deleted: one row locks the deployment for ever. */
import type { JsonObject } from "@runseal/canonical"
import type { EventFacts } from "@runseal/core/artifacts/admin-event"
import type { KeyScope, KeyTier } from "@runseal/core/wire/key-requests"
import { and, asc, eq, sql as fragment, getTableColumns, inArray, lte } from "drizzle-orm"
import { boolean, check, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core"
import type { Sink, Source } from "../driver/session.ts"
import { type Acts, actingKeyId, type NewAdminEvent, OPERATOR_COMMAND, recordAdminEvent } from "./admin-events.ts"
import { bytea, number, type RowOf } from "./column-types.ts"
import type { OutcomeCountRow } from "./runs-table.ts"
import { tenant } from "./tenants.ts"

/** An API key. Of its secret only the SHA-256 is stored. */
export const api_key = pgTable(
  "api_key",
  {
    /** 1, 2, 3 …; 0 is the anonymous caller. */
    key_id: number().primaryKey(),
    name: text().notNull(),
    /** 32 bytes. */
    secret_hash: bytea().notNull().unique(),
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
    old_secret_hash: bytea().notNull().default(fragment`''::bytea`),
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
    /** Whether an auditor shares what it reads. */
    share: boolean().notNull().default(false),
    /** Whether it may ask for runs and permits that are only observed. */
    observe: boolean().notNull().default(false),
    /** Of an approver: the subject of the person whose key it is, by the operator's word, and its groups as a JSON list; "" for others. */
    person: text().notNull().default(""),
    groups: text().notNull().default(""),
    /** Subjects of the persons who may not approve what it asks for, as a JSON list; "" for none. */
    persons: text().notNull().default(""),
  },
  table => [
    check("api_key_secret_hash", fragment`octet_length(${table.secret_hash}) = 32`),
    check("api_key_old_secret_hash", fragment`octet_length(${table.old_secret_hash}) in (0, 32)`),
    uniqueIndex("api_key_old_secret")
      .on(table.old_secret_hash)
      .where(fragment`octet_length(${table.old_secret_hash}) = 32`),
    check("api_key_scope", fragment`${table.scope} in ('admin', 'customer', 'auditor', 'approver')`),
    check("api_key_tier", fragment`${table.tier} in ('trial', 'production')`),
  ],
)

export type ApiKeyRow = RowOf<typeof api_key>

/** Key of the advisory lock under which one key at a time is made: "rskmint" in ASCII, read as a number. */
const MINT_LOCK = 0x72736b6d696e74

/** Who makes a key: an admin key or a person, the anonymous caller of open mode, or the operator at the machine. */
export type Minter =
  | { readonly kind: "admin"; readonly who: EventFacts["who"] }
  | { readonly kind: "anonymous" }
  | { readonly kind: "operator" }

/** A key as it acts. */
export type KeyName = Pick<ApiKeyRow, "key_id" | "name">

/** A key in an event. */
export const keyActor = ({ key_id, name }: KeyName): EventFacts["who"] => ({ actor: `api-key-${key_id}`, name })

const whoMints = (minter: Minter): EventFacts["who"] =>
  minter.kind === "admin" ? minter.who : minter.kind === "operator" ? OPERATOR_COMMAND : { actor: "open-mode" }

/** What a key has besides its name, scope and tier. */
export type KeySettings = Pick<
  ApiKeyRow,
  | "notes"
  | "expires_at"
  | "run_token_budget"
  | "window_token_budget"
  | "rate_limit"
  | "reads"
  | "share"
  | "observe"
  | "groups"
  | "persons"
>

type NewKey = Pick<ApiKeyRow, "name" | "scope" | "tier" | "created_at" | "person"> & KeySettings & HashInHex

/** What the event of a new key says of it, and the idempotency key that it uses up. */
type KeyMade = { readonly after: JsonObject } & Pick<NewAdminEvent, "once">

/** SHA-256 of the secret. */
type HashInHex = { readonly secret_hash: string }

/**
 * Stores a key under the next number, 1, 2, 3 … without a gap. The minter's right is checked when the key is stored, not at the start
 * of the request: an admin key has it as long as it is not revoked, the anonymous caller as long as there is no key; a person's was
 * judged with the session.
 * @returns the key's id; undefined when the minter may not, and then nothing was stored
 */
export function insertKey(acts: Acts, key: NewKey, minter: Minter, made: KeyMade): Promise<number | undefined> {
  // Hand-written: number, check and row are one statement, with a condition on all rows together.
  const who = whoMints(minter)
  const admin = actingKeyId(who)
  return acts.transaction(async tx => {
    const { sql } = tx
    await sql`select pg_advisory_xact_lock(${MINT_LOCK}::bigint)`
    const [row] = await sql<Pick<ApiKeyRow, "key_id">[]>`
      insert into api_key (key_id, name, secret_hash, scope, tier, created_at, last_used_at, revoked_at,
        created_by, notes, expires_at, run_token_budget, window_token_budget, rate_limit, reads, share, observe,
        person, groups, persons)
      select coalesce(max(key_id), 0) + 1, ${key.name}::text, decode(${key.secret_hash}, 'hex'), ${key.scope}::text,
        ${key.tier}::text, ${key.created_at}::bigint, 0, 0, ${who.actor}::text, ${key.notes}::text,
        ${key.expires_at}::bigint, ${key.run_token_budget}::bigint, ${key.window_token_budget}::bigint,
        ${key.rate_limit}::bigint, ${key.reads}::text, ${key.share}::boolean, ${key.observe}::boolean,
        ${key.person}::text, ${key.groups}::text, ${key.persons}::text
      from api_key
      having case
        when ${minter.kind}::text = 'anonymous' then count(*) = 0
        when ${admin ?? 0}::bigint = 0 then true
        else coalesce(bool_or(key_id = ${admin ?? 0}::bigint and scope = 'admin' and revoked_at = 0
          and (expires_at = 0 or expires_at > ${key.created_at}::bigint)), false)
      end
      returning key_id`
    if (row === undefined) return undefined
    const subject = { kind: "key" as const, id: String(row.key_id) }
    await recordAdminEvent(tx, { at: key.created_at, who, action: "key.create", subject, ...made })
    return row.key_id
  })
}

/** Whether a key was ever made. Once true it stays true. */
export function hasKeys(source: Source): Promise<boolean> {
  return source.read(async ({ orm }) => {
    const { key_id } = api_key
    return (await orm.select({ key_id }).from(api_key).limit(1)).length > 0
  })
}

/** A key that is neither revoked nor expired, under one of its secrets. */
export type ActiveKey = Pick<ApiKeyRow, (typeof OF_CALLERS)[number]> & HashInHex

/** The columns of a key that a caller is made of. */
const OF_CALLERS = [
  ...(["key_id", "name", "scope", "tier", "last_used_at", "run_token_budget", "window_token_budget"] as const),
  ...(["rate_limit", "reads", "share", "observe", "person", "groups"] as const),
]
export const CALLER_COLUMNS = OF_CALLERS.join(", ")

/** Every secret that is accepted at $at, with the columns of its key: the newest one, and the one before while they overlap. */
export const acceptedSecrets = (at: string): string => `(
  select ${CALLER_COLUMNS}, secret_hash from api_key where revoked_at = 0 and (expires_at = 0 or expires_at > ${at})
  union all
  select ${CALLER_COLUMNS}, old_secret_hash from api_key
  where octet_length(old_secret_hash) = 32 and overlap_until > ${at}
    and revoked_at = 0 and (expires_at = 0 or expires_at > ${at})
)`

const FIND_ACTIVE = `
  select ${CALLER_COLUMNS}, encode(secret_hash, 'hex') as secret_hash from ${acceptedSecrets("$1::bigint")} as accepted
  where secret_hash in (select decode(json_array_elements_text($2::text::json), 'hex'))`

/**
 * The keys of these hashes (hex, at most a batch of them) that are accepted. By hand: every request asks it.
 * @param at milliseconds since the epoch
 */
export function findActiveKeys(source: Source, hashes: readonly string[], at: number): Promise<readonly ActiveKey[]> {
  return source.read(async ({ sql }) =>
    sql.unsafe<ActiveKey[]>(FIND_ACTIVE, [at, JSON.stringify(hashes)], { prepare: true }),
  )
}

/** A key as administrators see it. */
export type KeyFacts = Omit<ApiKeyRow, "secret_hash" | "old_secret_hash"> & { readonly run_count: number }

/** All keys, oldest first; or the one of this id. The number of runs is that of the tenant's chain. */
export function listKeys(source: Source, keyId?: number): Promise<readonly KeyFacts[]> {
  const { secret_hash: _, old_secret_hash: _old, ...facts } = getTableColumns(api_key)
  const run_count = fragment<number>`coalesce(${tenant.run_count}, 0)`.as("run_count")
  return source.read(({ orm }) =>
    orm
      .select({ ...facts, run_count })
      .from(api_key)
      .leftJoin(tenant, eq(tenant.owner, api_key.key_id))
      .where(keyId === undefined ? undefined : eq(api_key.key_id, keyId))
      .orderBy(asc(api_key.key_id)),
  )
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

// What each key has used. Nothing here reads runs one by one: they are counted where they are sealed, and numbered without a gap.

/** A key with the sums over its rows; key 0 is open mode. */
export type KeyUsageRow = Pick<ApiKeyRow, "key_id" | "name" | "revoked_at" | "last_used_at" | "window_token_budget"> & {
  readonly scope: ApiKeyRow["scope"] | ""
  readonly tier: ApiKeyRow["tier"] | ""
  readonly tokens: number
  readonly window_total: number
  /** Runs since the first that was admitted in the window. */
  readonly window_runs: number
  readonly open_permits: number
  /** Runs that it was admitted to in the trial period. */
  readonly admitted: number
}

type UsageTimes = {
  readonly window_seconds: number
  /** Milliseconds since the epoch, as the next: the start of the present window, and of the trial period. */
  readonly window_start: number
  readonly trial_since: number
}

/** All keys, oldest first, behind open mode if runs were made in it. */
export function readUsage(
  source: Source,
  { window_seconds, window_start, trial_since }: UsageTimes,
): Promise<readonly KeyUsageRow[]> {
  return source.read(
    async ({ sql }) => sql<KeyUsageRow[]>`
      with listed as (
        select key_id, name, scope, tier, revoked_at, last_used_at, window_token_budget from api_key
        union all
        select 0, 'anonymous', '', '', 0, 0, -1 from tenant where owner = 0
      )
      select listed.*,
        (select least(coalesce(sum(total), 0), ${Number.MAX_SAFE_INTEGER}::bigint)::bigint from tenant_window
          where tenant_window.tenant_id = tenant.tenant_id) as tokens,
        coalesce((select total from tenant_window where tenant_window.tenant_id = tenant.tenant_id
          and tenant_window.window_seconds = ${window_seconds}::bigint
          and tenant_window.window_start = ${window_start}::bigint), 0) as window_total,
        coalesce((select tenant.run_count + 1 - run.owner_ordinal from run where run.owner = listed.key_id
          and run.created_at >= ${window_start}::bigint order by run.created_at, run.owner_ordinal limit 1), 0)
          as window_runs,
        (select count(*) from permit where permit.owner = listed.key_id and state = 'open') as open_permits,
        (select count(*) from trial_admission where trial_admission.key_id = listed.key_id
          and admitted_at > ${trial_since}::bigint) as admitted
      from listed left join tenant on tenant.owner = listed.key_id
      order by listed.key_id`,
  )
}

/** The runs of every owner, by outcome. */
export function readOutcomeCounts(source: Source): Promise<readonly OutcomeCountRow[]> {
  return source.read(async ({ sql }) => sql<OutcomeCountRow[]>`select owner, outcome_kind, runs from outcome_count`)
}
