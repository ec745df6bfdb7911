/** What a batch reads and writes in the store for its permits. Nothing is asked of the store by a batch without permits. */

import type { Draft, PermitTerms } from "@runseal/core/seal/draft"
import type { LockedPermit, PermitCounts } from "@runseal/core/seal/permits/locked-permit"
import { NO_PERMITS, type PermitLocks, type PermitWork } from "@runseal/core/seal/permits/settle-permits"
import { windowName } from "@runseal/core/seal/permits/windows"
import type { Tenant } from "@runseal/core/wire/submission"
import type { Tx } from "../store/driver/session.ts"
import { packBundle } from "../store/tables/bundle-text.ts"
import { insertPermitEnds, type NewPermitEndRow } from "../store/tables/permit-ends.ts"
import {
  countPermits,
  insertPermits,
  lockPermits,
  type NewPermitRow,
  type PermitOutcome,
  redeemPermits,
  settlePermits,
} from "../store/tables/permits-table.ts"
import { insertMovements, lockWindows, moveWindows, type TenantWindowRow } from "../store/tables/tenant-windows.ts"
import type { Batch, BatchWork, SealedEnd, SealedOpening, SealedRun } from "./batch.ts"
import { permitRuns } from "./batch.ts"

/** The items of a batch's permits that are there. */
export const permitItems = ({ closes, ends, openings }: PermitWork): readonly { readonly tenant: Tenant }[] =>
  [...closes, ...ends, ...openings].filter(item => item !== undefined)

type LockedItems = Pick<PermitLocks, "counts" | "permits">

/** Holds the API keys behind openings, and locks the permits that are to be closed, ended or redeemed. */
export async function lockPermitItems(tx: Tx, { drafts, permits }: BatchWork): Promise<LockedItems> {
  const { closes, ends, redemptions, openings } = permits ?? NO_PERMITS
  const refused = drafts.filter(draft => draft.refused_permit !== undefined)
  const owners = [...new Set([...openings, ...refused].flatMap(item => item?.tenant.owner ?? []))]
  const ids = [
    ...[...closes, ...redemptions].flatMap(item => item?.permit_id ?? []),
    ...ends.flatMap(end => end?.permit_ids ?? []),
  ]
  const [counts, locked] = await Promise.all([countPermits(tx, owners), lockPermits(tx, [...new Set(ids)])])
  return { counts, permits: locked }
}

/** Locks the windows that a batch's permits move, by windowName. */
export async function lockPermitWindows(
  tx: Tx,
  { closes, ends, openings }: PermitWork,
  permits: ReadonlyMap<string, LockedPermit>,
): Promise<ReadonlyMap<string, TenantWindowRow>> {
  const closed = [
    ...closes.flatMap(close => (close === undefined ? [] : [{ tenant: close.tenant, permit_id: close.permit_id }])),
    ...ends.flatMap(end => end?.permit_ids.map(permit_id => ({ tenant: end.tenant, permit_id })) ?? []),
  ]
  const keys = [
    ...closed.flatMap(({ tenant, permit_id }) => {
      const permit = permits.get(permit_id)
      return permit?.state === "open" && permit.owner === tenant.owner ? [keyOf(tenant, permit)] : []
    }),
    ...openings.flatMap(opening => (opening === undefined ? [] : [keyOf(opening.tenant, opening.charge)])),
  ]
  if (keys.length === 0) return new Map()
  const windows = await lockWindows(tx, keys)
  return new Map(windows.map(window => [windowName(window), window]))
}

const keyOf = (
  { tenant_id }: Tenant,
  { window_seconds, window_start }: Pick<LockedPermit, "window_seconds" | "window_start">,
) => ({ tenant_id, window_seconds, window_start })

/** Sends the rows of a batch's permits. */
export function writePermits(
  tx: Tx,
  work: BatchWork,
  batch: Batch,
  { counts }: Pick<PermitLocks, "counts">,
): readonly Promise<void>[] {
  const openings = batch.openings.filter(opening => opening !== undefined)
  const ends = batch.ends.filter(end => end !== undefined)
  const redemptions = batch.redemptions.filter(redemption => redemption !== undefined)
  const refused = batch.runs.filter(run => run?.draft.refused_permit !== undefined)
  const rows = numbered(
    [...openings.map(openRow), ...refused.flatMap(run => (run === undefined ? [] : refusedRow(run)))],
    counts,
  )
  return [
    insertPermits(tx, rows),
    insertPermitEnds(tx, ends.map(endRow)),
    redeemPermits(tx, redemptions),
    settlePermits(tx, [...closedBy(work, batch), ...ends.flatMap(endedBy)]),
    moveWindows(tx, batch.windows),
    insertMovements(tx, batch.movements),
  ]
}

type UnnumberedRow = Omit<NewPermitRow, "owner_ordinal">

/** Gives each permit its owner's next ordinal. */
function numbered(rows: readonly UnnumberedRow[], counts: ReadonlyMap<number, PermitCounts>): readonly NewPermitRow[] {
  const newest = new Map([...counts].map(([owner, { permits }]) => [owner, permits]))
  return rows.map(row => {
    const owner_ordinal = (newest.get(row.owner) ?? 0) + 1
    newest.set(row.owner, owner_ordinal)
    return { ...row, owner_ordinal }
  })
}

/** What every permit's row says: what was asked for, by whom, and when. */
const asked = (
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

const openRow = ({ pending, document, text, packed, ...place }: SealedOpening): UnnumberedRow => ({
  ...asked(pending.run.facts, pending.terms),
  state: "open",
  charge_id: pending.charge.charge_id,
  window_seconds: pending.charge.window_seconds,
  window_start: pending.charge.window_start,
  cap: pending.charge.cap,
  run_id: 0,
  chain_ordinal: place.tenant_ordinal,
  leaf_digest: place.leaf_digest,
  log_index: place.log_index,
  opening_hash: document.opening_hash,
  opening: packed ?? packBundle(text),
})

function refusedRow({ draft, bundle }: SealedRun): readonly UnnumberedRow[] {
  const { refused_permit } = draft
  if (refused_permit === undefined) return []
  const row = {
    ...asked(draft, refused_permit),
    state: "refused" as const,
    charge_id: "",
    window_seconds: 0,
    window_start: 0,
    cap: 0,
    run_id: bundle.run.run_id,
    chain_ordinal: 0,
    leaf_digest: "",
    log_index: 0,
    opening_hash: "",
    opening: new Uint8Array(),
  }
  return [row]
}

/** The permits that runs closed. */
function closedBy(work: BatchWork, { runs }: Batch): readonly PermitOutcome[] {
  const closes = work.permits?.closes ?? []
  return closes.flatMap((close, at) => {
    const run = runs[permitRuns(work).close(at)]
    if (close === undefined || run === undefined) return []
    return [{ permit_id: close.permit_id, state: "closed", run_id: run.bundle.run.run_id, end_ordinal: 0 }]
  })
}

const endedBy = ({ document, tenant_ordinal }: SealedEnd): readonly PermitOutcome[] =>
  document.openings.map(({ permit_id }) => ({ permit_id, state: "ended", run_id: 0, end_ordinal: tenant_ordinal }))

const endRow = ({ pending, document, text, packed, ...place }: SealedEnd): NewPermitEndRow => ({
  owner: pending.tenant.owner,
  chain_ordinal: place.tenant_ordinal,
  leaf_digest: place.leaf_digest,
  log_index: place.log_index,
  ended_at: Date.parse(document.end_clock),
  document: packed ?? packBundle(text),
})
