/**
 * Permits: what may be acted on, and what became of it. A row is written in the transaction that seals the opening, or the run that
 * was refused instead; a redemption, a close and an end change it in theirs. Then the reads: lists, one permit, and those that are due.
 */
import type { LockedPermit, PermitCounts, PermitRedemption } from "@runseal/core/seal/permits/locked-permit"
import type { PermitState } from "@runseal/core/wire/permit-requests"
import { sql as fragment } from "drizzle-orm"
import { boolean, index, pgTable, text, unique } from "drizzle-orm/pg-core"
import { insertRows, type Source, type Tx } from "../driver/session.ts"
import { unpackBundle } from "./bundle-text.ts"
import { bytea, number, type RowOf } from "./column-types.ts"
import { isReadable } from "./run-claims.ts"
import type { RowRange, RunRow } from "./runs-table.ts"

export const permit = pgTable(
  "permit",
  {
    permit_id: text().primaryKey(),
    /** Id of the API key that asked for it; 0 = anonymous. */
    owner: number(),
    /** 1, 2, 3 … without a gap within the owner: lists are paged by it. */
    owner_ordinal: number(),
    state: text().$type<PermitState>().notNull(),
    program_id: text().notNull(),
    route_id: text().notNull(),
    /** Who is to act. */
    audience: text().notNull(),
    /** Of its reservation and what follows from it; "" for a refused one. */
    charge_id: text().notNull(),
    /** The window of the reservation; 0 and 0 for a refused one. */
    window_seconds: number(),
    window_start: number(),
    /** The window's cap when it was opened; 0 for a refused one. */
    cap: number(),
    /** Tokens it asked for. */
    reserved: number(),
    /** Milliseconds since the epoch, as are all times here: the admission of the opening. */
    opened_at: number(),
    expires_at: number(),
    close_by: number(),
    /** When it is to be ended unless it is closed: `close_by`, or 0 once its key is revoked. */
    due_at: number(),
    redeem_required: boolean().notNull(),
    /** 0 = not redeemed. */
    redeemed_at: number(),
    /** Log entry of the redemption, RFC 8785; "" = not redeemed. */
    redemption_entry: text().notNull().default(""),
    /** Whether a redemption may have been lost with a folder of heads: then it is never redeemed. */
    redemption_unknown: boolean().notNull().default(false),
    /** The run that closed it, or that was refused; 0 before a close and after an end. */
    run_id: number(),
    /** Ordinal of the end document in the owner's chain; 0 = none. */
    end_ordinal: number(),
    /** Of its opening document; 0 for a refused one, which has none. */
    log_index: number(),
    /** "" for a refused one. */
    opening_hash: text().notNull(),
    /** Secret from which the salts of the declared sections come, those of the close too; never shown. */
    disclosure_seed: bytea().notNull(),
  },
  table => [
    unique("permit_owner_ordinal").on(table.owner, table.owner_ordinal),
    index("permit_state_opened").on(table.state, table.opened_at, table.permit_id),
    index("permit_owner_opened").on(table.owner, table.opened_at, table.permit_id),
    index("permit_state").on(table.owner, table.state, table.owner_ordinal),
    index("permit_run").on(table.owner, table.run_id).where(fragment`${table.run_id} > 0`),
    index("permit_due").on(table.due_at, table.reserved).where(fragment`${table.state} = 'open'`),
  ],
)

export type PermitRow = RowOf<typeof permit>

/** Stores permits that were opened or refused. */
export const insertPermits = (tx: Tx, permits: readonly PermitRow[]): Promise<void> => insertRows(tx, permit, permits)

/**
 * Locks permits until the transaction ends, always in the same order; no statement for none. The ids are compared as an array, here and in
 * `settlePermits`: then the index is used, where a planner that joins them as rows of an unknown number reads every permit.
 */
export async function lockPermits(
  { sql }: Tx,
  permitIds: readonly string[],
): Promise<ReadonlyMap<string, LockedPermit>> {
  if (permitIds.length === 0) return new Map()
  const rows = await sql<LockedPermit[]>`
    select permit_id, owner, state, charge_id, window_seconds, window_start, cap, reserved, opened_at, expires_at, close_by,
      due_at, redeemed_at, redemption_entry, redemption_unknown, opening_hash
    from permit where permit_id = any(array(select json_array_elements_text(${JSON.stringify(permitIds)}::text::json)))
    order by permit_id collate "C"
    for update`
  return new Map(rows.map(row => [row.permit_id, row]))
}

/**
 * Counts the permits of owners, and holds their keys against a revocation. Read behind the head's lock it is final. No statement
 * for no owners.
 */
export async function countPermits({ sql }: Tx, owners: readonly number[]): Promise<ReadonlyMap<number, PermitCounts>> {
  if (owners.length === 0) return new Map()
  const rows = await sql<(PermitCounts & { readonly owner: number })[]>`
    with held as (
      select key_id from api_key
      where key_id in (select json_array_elements_text(${JSON.stringify(owners)}::text::json)::bigint) and revoked_at = 0
      order by key_id for key share
    )
    select claim.owner::bigint as owner,
      coalesce((select max(owner_ordinal) from permit where permit.owner = claim.owner::bigint), 0) as permits,
      (select count(*) from permit where permit.owner = claim.owner::bigint and state = 'open') as open,
      claim.owner::bigint = 0 or exists(select from held where key_id = claim.owner::bigint) as active
    from json_array_elements_text(${JSON.stringify(owners)}::text::json) as claim(owner)`
  return new Map(rows.map(({ owner, ...counts }) => [owner, counts]))
}

/** What became of an open permit. */
export type PermitOutcome = Pick<PermitRow, "permit_id" | "state" | "run_id" | "end_ordinal">

/** Writes what became of permits that this transaction has locked and found open. */
export async function settlePermits({ sql }: Tx, outcomes: readonly PermitOutcome[]): Promise<void> {
  if (outcomes.length === 0) return
  await sql`
    with next as (
      select * from json_to_recordset(${JSON.stringify(outcomes)}::text::json)
        as outcome(permit_id text, state text, run_id bigint, end_ordinal bigint)
    )
    update permit set state = next.state, run_id = next.run_id, end_ordinal = next.end_ordinal from next
    where permit.permit_id = next.permit_id and permit.permit_id = any(array(select permit_id from next))`
}

/** Writes the redemptions of permits that this transaction has locked and found open and not redeemed. */
export async function redeemPermits({ sql }: Tx, redemptions: readonly PermitRedemption[]): Promise<void> {
  if (redemptions.length === 0) return
  await sql`
    with next as (
      select * from json_to_recordset(${JSON.stringify(redemptions)}::text::json)
        as redemption(permit_id text, redeemed_at bigint, redemption_entry text)
    )
    update permit set redeemed_at = next.redeemed_at, redemption_entry = next.redemption_entry from next
    where permit.permit_id = next.permit_id and permit.permit_id = any(array(select permit_id from next))`
}

/** Notes of all permits that could still be redeemed that they may have been, in a record that is lost. */
export async function doubtRedemptions({ sql }: Tx): Promise<void> {
  await sql`update permit set redemption_unknown = true where state = 'open' and redeemed_at = 0`
}

// Reads of permits: lists, one permit, and those that are due.

export const PERMIT_SUMMARY_COLUMNS = [
  "permit_id",
  "owner",
  "owner_ordinal",
  "state",
  "program_id",
  "route_id",
  "audience",
  "reserved",
  "opened_at",
  "expires_at",
  "close_by",
  "redeem_required",
  "redeemed_at",
  "run_id",
] as const satisfies readonly (keyof PermitRow)[]

/** What a list shows of a permit. */
export type PermitSummary = Pick<PermitRow, (typeof PERMIT_SUMMARY_COLUMNS)[number]> & {
  /** Of the run that closed it; null while there is none. */
  readonly closing_outcome: RunRow["closing_outcome"] | null
}

type PermitPage = {
  /** All permits that match, not only those of the page. */
  readonly total: number
  /** Newest first. */
  readonly permits: readonly PermitSummary[]
}

/** One statement, so that total and page are of the same instant; of a page without permits one row holds only the total. */
type PageRow = { readonly total: number } & (PermitSummary | { readonly permit_id: null })

const PREPARED = { prepare: true }

/** What is selected of `permit` for a `PermitSummary`. */
export const SUMMARY = [
  ...PERMIT_SUMMARY_COLUMNS.map(name => `permit.${name}`),
  "(select run.closing_outcome from run where run.run_id = permit.run_id) as closing_outcome",
].join(", ")

const LIST = `
  select counted.total, page.* from (
    select coalesce(max(owner_ordinal), 0) as total from permit where owner = $1
  ) as counted left join lateral (
    select ${SUMMARY} from permit where owner = $1 and owner_ordinal <= counted.total - $2
    order by owner_ordinal desc limit $3
  ) as page on true
  order by page.owner_ordinal desc`

const LIST_OF_STATE = `
  select counted.total, page.* from (
    select count(*) as total from permit where owner = $1 and state = $4
  ) as counted left join lateral (
    select ${SUMMARY} from permit where owner = $1 and state = $4
    order by owner_ordinal desc offset $2::bigint limit $3::bigint
  ) as page on true
  order by page.owner_ordinal desc`

/** A page of an owner's permits. @param state only these; absent: all */
export function listPermits(
  source: Source,
  owner: number,
  state: PermitState | undefined,
  { limit, offset }: RowRange,
): Promise<PermitPage> {
  return source.read(async ({ sql }) => {
    const rows =
      state === undefined
        ? await sql.unsafe<PageRow[]>(LIST, [owner, offset, limit], PREPARED)
        : await sql.unsafe<PageRow[]>(LIST_OF_STATE, [owner, offset, limit, state], PREPARED)
    const permits: PermitSummary[] = []
    for (const { total: _, ...summary } of rows) if (summary.permit_id !== null) permits.push(summary)
    return { total: rows[0]?.total ?? 0, permits }
  })
}

/** A permit with its sealed documents, as RFC 8785 texts. */
export type FoundPermit = PermitSummary &
  Pick<PermitRow, "log_index" | "disclosure_seed" | "redemption_entry"> & {
    /** Absent for a refused one. */
    readonly opening?: string
    /** The document that ended it. */
    readonly end?: string
  }

type StoredPermit = PermitSummary &
  Pick<PermitRow, "log_index" | "disclosure_seed" | "redemption_entry"> & {
    readonly opening: Uint8Array | null
    readonly end_document: Uint8Array | null
  }

const STORED = `select ${SUMMARY}, permit.log_index, permit.disclosure_seed, permit.redemption_entry,
    opened.packed as opening, ended.packed as end_document
  from permit left join document as opened on opened.log_index = permit.log_index
    left join document as ended
    on ended.owner = permit.owner and ended.chain_ordinal = permit.end_ordinal and ended.chain_ordinal > 0`

const FIND = `${STORED} where permit_id = $1 and ${isReadable("$2::bigint", "permit.owner")}`
const FIND_ANY = `${STORED} where permit_id = $1`

function shown({ opening, end_document, ...row }: StoredPermit): FoundPermit {
  return {
    ...row,
    ...(opening === null ? {} : { opening: unpackBundle(opening) }),
    ...(end_document === null ? {} : { end: unpackBundle(end_document) }),
  }
}

/** A permit that this key reads, as it reads runs; undefined when there is none. */
export function findPermit(source: Source, owner: number, permitId: string): Promise<FoundPermit | undefined> {
  return source.read(async ({ sql }) => {
    const [found] = await sql.unsafe<StoredPermit[]>(FIND, [permitId, owner], PREPARED)
    return found && shown(found)
  })
}

/** A permit of any owner: for who holds the permit itself, which names it. */
export function findHeldPermit(source: Source, permitId: string): Promise<FoundPermit | undefined> {
  return source.read(async ({ sql }) => {
    const [found] = await sql.unsafe<StoredPermit[]>(FIND_ANY, [permitId], PREPARED)
    return found && shown(found)
  })
}

/** An open permit that is to be ended. */
export type DuePermit = Pick<PermitRow, "permit_id" | "owner"> & {
  readonly tenant_id: string
  /** Its key was revoked. */
  readonly revoked: boolean
}

/**
 * The open permits that are due, those of revoked keys first, then the oldest.
 * @param now milliseconds since the epoch; where the log's time is later, that counts: a clock that steps back extends nothing
 */
export function findDuePermits(source: Source, now: number, limit: number): Promise<readonly DuePermit[]> {
  return source.read(
    async ({ sql }) => sql<DuePermit[]>`
      select permit_id, permit.owner, tenant_id, due_at = 0 as revoked from permit
      join tenant on tenant.owner = permit.owner
      where state = 'open' and due_at < greatest(${now}::bigint, (select log_time * 1000 from log_head))
      order by due_at limit ${limit}::bigint`,
  )
}

export type OpenPermits = { readonly permits: number; readonly reserved: number }

/** How many permits are open, and the tokens that they reserve. */
export function countOpenPermits(source: Source): Promise<OpenPermits> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<OpenPermits[]>`
      select count(*) as permits, least(coalesce(sum(reserved), 0), ${Number.MAX_SAFE_INTEGER}::bigint)::bigint as reserved
      from permit where state = 'open'`
    return row ?? { permits: 0, reserved: 0 }
  })
}
