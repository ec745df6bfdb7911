/** What a batch locks and writes in the store for its permits. Nothing is asked of the store by a batch without permits. */

import type { Draft, PermitTerms } from "@runseal/core/seal/draft"
import type { LockedPermit, PermitCounts } from "@runseal/core/seal/permits/locked-permit"
import type { PermitLocks } from "@runseal/core/seal/permits/settle-permits"
import { windowName } from "@runseal/core/seal/permits/windows"
import type { Tx } from "../store/driver/session.ts"
import {
  countPermits,
  insertPermits,
  lockPermits,
  type PermitRow,
  redeemPermits,
  settlePermits,
} from "../store/tables/permits-table.ts"
import { insertMovements, lockWindows, moveWindows, type TenantWindowRow } from "../store/tables/tenant-windows.ts"
import type { Batch, Item, Rows, SealedRun } from "./batch.ts"

type LockedItems = Pick<PermitLocks, "counts" | "permits">

/** Holds the API keys behind openings, and locks the permits that are to be closed, ended or redeemed. */
export async function lockPermitItems(tx: Tx, items: readonly Item[]): Promise<LockedItems> {
  const owners = items.flatMap(({ locks }) => locks.opens ?? [])
  const ids = items.flatMap(({ locks: { settles = [], redeems } }) => [...settles, ...(redeems ? [redeems] : [])])
  const [counts, permits] = await Promise.all([
    countPermits(tx, [...new Set(owners)]),
    lockPermits(tx, [...new Set(ids)]),
  ])
  return { counts, permits }
}

/** Locks the windows that a batch's permits move, by windowName. */
export async function lockPermitWindows(
  tx: Tx,
  items: readonly Item[],
  permits: ReadonlyMap<string, LockedPermit>,
): Promise<ReadonlyMap<string, TenantWindowRow>> {
  const keys = items.flatMap(({ locks: { tenant, window, settles = [] } }) => {
    const settled = settles.flatMap(id => {
      const permit = permits.get(id)
      if (tenant === undefined || permit?.state !== "open" || permit.owner !== tenant.owner) return []
      const { window_seconds, window_start } = permit
      return [{ tenant_id: tenant.tenant_id, window_seconds, window_start }]
    })
    return window === undefined ? settled : [...settled, window]
  })
  if (keys.length === 0) return new Map()
  const windows = await lockWindows(tx, keys)
  return new Map(windows.map(window => [windowName(window), window]))
}

/** Sends the rows of a batch's permits. */
export const writePermits = (
  tx: Tx,
  { sealed, book }: Batch,
  { counts }: Pick<PermitLocks, "counts">,
): readonly Promise<void>[] => [
  insertPermits(
    tx,
    numbered(
      sealed.flatMap(({ rows }) => rows.permit ?? []),
      counts,
    ),
  ),
  redeemPermits(
    tx,
    sealed.flatMap(({ rows }) => rows.redemption ?? []),
  ),
  settlePermits(
    tx,
    sealed.flatMap(({ rows }) => rows.settled ?? []),
  ),
  moveWindows(tx, [...book.moved.values()]),
  insertMovements(tx, book.movements),
]

/** Gives each permit its owner's next ordinal. */
function numbered(
  rows: readonly NonNullable<Rows["permit"]>[],
  counts: ReadonlyMap<number, PermitCounts>,
): readonly PermitRow[] {
  const newest = new Map([...counts].map(([owner, { permits }]) => [owner, permits]))
  return rows.map(row => {
    const owner_ordinal = (newest.get(row.owner) ?? 0) + 1
    newest.set(row.owner, owner_ordinal)
    return { ...row, owner_ordinal }
  })
}

// The row of a permit, as its opening writes it, or the run that it was refused as.

/** What every permit's row says: what was asked for, by whom, and when. */
export const askedColumns = (
  { tenant, moment, program_id, route_id }: Pick<Draft, "tenant" | "moment" | "program_id" | "route_id">,
  terms: PermitTerms,
) => ({
  permit_id: terms.permit_id,
  owner: tenant.owner,
  program_id,
  route_id,
  audience: terms.audience,
  reserved: terms.reserve_tokens,
  opened_at: Date.parse(moment.at),
  expires_at: Date.parse(terms.expires_at),
  close_by: Date.parse(terms.close_by),
  due_at: Date.parse(terms.close_by),
  redeem_required: terms.redeem_required,
  redeemed_at: 0,
  redemption_entry: "",
  redemption_unknown: false,
  end_ordinal: 0,
  disclosure_seed: Buffer.from(moment.seed, "hex"),
})

/** The permit that a run was refused instead of; nothing for any other run. */
export function refusedRow({ draft, bundle }: Pick<SealedRun, "draft" | "bundle">): Pick<Rows, "permit"> {
  const { refused_permit } = draft
  if (refused_permit === undefined) return {}
  const permit = {
    ...askedColumns(draft, refused_permit),
    state: "refused" as const,
    charge_id: "",
    window_seconds: 0,
    window_start: 0,
    cap: 0,
    run_id: bundle.run.run_id,
    log_index: 0,
    opening_hash: "",
  }
  return { permit }
}
