/**
 * Heads of the tenants' chains of sealed documents. docs/formats.md section 7.3: ordinals count 1, 2, 3 … within a tenant without a gap.
 * What a batch locks and moves is hand-written: one statement for all of its tenants, as a JSON text.
 */
import { eq } from "drizzle-orm"
import { pgTable, text } from "drizzle-orm/pg-core"
import type { Session, Source, Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { number, type RowOf } from "./column-types.ts"

/** Head of a tenant's chain: its documents, of every kind that has a place in one. */
export const tenant = pgTable("tenant", {
  tenant_id: text().primaryKey(),
  /** Id of the API key that is this tenant; 0 = anonymous. */
  owner: number().unique(),
  /** 64 hex digits, random, never changed. */
  salt: text().notNull(),
  /** Documents of the chain so far: the ordinal of the last one. */
  record_count: number(),
  /** Runs so far: the records of the chain. */
  run_count: number(),
  /** Digest of the last document's leaf; 64 zeros before the first. */
  head: text().notNull(),
})

export type TenantRow = RowOf<typeof tenant>

/** `previous_record` of a tenant's first record. */
export const NO_RECORD: string = "0".repeat(64)

export type TenantOwner = Pick<TenantRow, "tenant_id" | "owner">

/** A tenant about to seal. `salt` (64 hex digits, fresh and random) is stored only when the tenant is new. */
export type TenantClaim = TenantOwner & Pick<TenantRow, "salt">

type TenantHeadRow = Pick<TenantRow, "tenant_id" | "record_count" | "run_count" | "head">

const FIND = `select tenant_id, owner, salt, record_count, run_count, head from tenant
  where tenant_id in (select json_array_elements_text($1::text::json))`
const FIND_AND_LOCK = `${FIND} order by tenant_id collate "C" for update`
/** The server caches the plan of a prepared statement. */
const PREPARED = { prepare: true }

/**
 * Locks those of the tenants that exist until the transaction ends, always in the same order. No statement for no tenants.
 * @returns the stored rows by tenant id
 * @throws StoreError "conflict" when a tenant belongs to another owner
 */
export const findTenants = (tx: Tx, owners: readonly TenantOwner[]): Promise<ReadonlyMap<string, TenantRow>> =>
  tenantsBy(tx, FIND_AND_LOCK, owners)

/** The same without a lock: another transaction may move them at any time. */
export const readTenants = (
  session: Session,
  owners: readonly TenantOwner[],
): Promise<ReadonlyMap<string, TenantRow>> => tenantsBy(session, FIND, owners)

async function tenantsBy(
  { sql }: Session,
  statement: string,
  owners: readonly TenantOwner[],
): Promise<ReadonlyMap<string, TenantRow>> {
  if (owners.length === 0) return new Map()
  const rows = await sql.unsafe<TenantRow[]>(statement, [JSON.stringify(owners.map(tenantId))], PREPARED)
  const tenants = new Map(rows.map(row => [row.tenant_id, row]))
  const foreign = owners.some(({ tenant_id, owner }) => (tenants.get(tenant_id)?.owner ?? owner) !== owner)
  if (foreign) throw anotherOwner()
  return tenants
}

/**
 * Locks tenants until the transaction ends, making those that are new. All transactions lock in the same order, so that there is no
 * deadlock; one that has read tenants before has locked the log's head before that. One claim per tenant, at most a batch of
 * them; no statement without claims.
 * @returns the stored rows by tenant id
 * @throws StoreError "conflict" when a tenant belongs to another owner
 */
export async function lockTenants(tx: Tx, claims: readonly TenantClaim[]): Promise<ReadonlyMap<string, TenantRow>> {
  if (claims.length === 0) return new Map()
  await tx.sql`
    insert into tenant (tenant_id, owner, salt, record_count, run_count, head)
    select tenant_id, owner, salt, 0, 0, ${NO_RECORD}
    from json_to_recordset(${JSON.stringify(claims)}::text::json) as claim(tenant_id text, owner bigint, salt text)
    order by tenant_id collate "C"
    on conflict do nothing`
  const tenants = await findTenants(tx, claims)
  // One that was not made has another tenant of its owner in its way.
  if (tenants.size < claims.length) throw anotherOwner()
  return tenants
}

const anotherOwner = (): StoreError => new StoreError("conflict", { message: "A tenant belongs to another owner." })

/** Documents of a tenant's chain so far; 0 for a tenant that has not sealed anything. */
export async function readRecordCount(source: Source, tenantId: string): Promise<number> {
  const { record_count } = tenant
  const [row] = await source.read(({ orm }) =>
    orm.select({ record_count }).from(tenant).where(eq(tenant.tenant_id, tenantId)),
  )
  return row?.record_count ?? 0
}

const tenantId = ({ tenant_id }: TenantOwner): string => tenant_id

/**
 * Moves the heads of tenants this transaction has locked.
 * @throws StoreError "conflict" when one of them does not exist
 */
export async function updateTenants({ sql }: Tx, heads: readonly TenantHeadRow[]): Promise<void> {
  const moved = await sql`
    update tenant set record_count = next.record_count, run_count = next.run_count, head = next.head
    from json_to_recordset(${JSON.stringify(heads)}::text::json)
      as next(tenant_id text, record_count bigint, run_count bigint, head text)
    where tenant.tenant_id = next.tenant_id`
  if (moved.count !== heads.length) throw new StoreError("conflict")
}
