/**
 * Permits: what may be acted on, and what became of it. A row is written in the transaction that seals the opening, or the run that
 * was refused instead; a redemption, a close and an end change it in theirs.
 */
import type { LockedPermit, PermitCounts, PermitRedemption } from "@runseal/core/seal/permits/locked-permit"
import type { PermitState } from "@runseal/core/wire/permit-requests"
import { sql as fragment } from "drizzle-orm"
import { boolean, index, pgTable, text, unique } from "drizzle-orm/pg-core"
import { insertRows, type Tx } from "../driver/session.ts"
import { bytea, number, type RowOf } from "./column-types.ts"

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
