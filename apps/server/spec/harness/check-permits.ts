/** Every permit: its opening and its end as documents that verify, and its row as what these and its run say. */
import type { Anchor } from "@runseal/core/artifacts/anchor"
import type { Opening } from "@runseal/core/artifacts/opening"
import type { PermitEnd } from "@runseal/core/artifacts/permit-end"
import { redemptionLeaf } from "@runseal/core/formulas/permit"
import { VERDICTS } from "@runseal/core/verify/report"
import { expect } from "vitest"
import { type Auditor, referenceDigest } from "./auditor.ts"
import type { Tables } from "./read-tables.ts"

export type SealedPermits = {
  readonly openings: readonly Opening[]
  readonly ends: readonly PermitEnd[]
  readonly redemptions: readonly Anchor[]
}

/** Every opening and every end, and what they are together. Gives what it judged. */
export function checkPermits(auditor: Auditor, tables: Tables): SealedPermits {
  const { permits } = tables
  const sealed = judgePermits(auditor, tables)
  checkStates(permits, sealed.ends)
  for (const owner of new Set(permits.map(row => row.owner))) {
    const ordinals = permits.filter(row => row.owner === owner).map(row => row.owner_ordinal)
    expect(ordinals).toEqual(ordinals.map((_, at) => at + 1))
  }
  return sealed
}

/** Judges openings, ends and redemptions, and gives them. */
export function judgePermits(
  { judge, checkEntry }: Auditor,
  { permits, ends, redeemed }: Pick<Tables, "permits" | "ends" | "redeemed">,
): SealedPermits {
  const openings = permits.flatMap(row => {
    if (row.state === "refused") {
      expect(row).toMatchObject({ opening: "", chain_ordinal: 0, charge_id: "", end_ordinal: 0 })
      expect(row.run_id).toBeGreaterThan(0)
      return []
    }
    judge(row.opening, VERDICTS.opening, `permit ${row.permit_id}`)
    const opening: Opening = JSON.parse(row.opening)
    checkEntry(opening)
    expect(row).toMatchObject(rowOf(opening))
    return [opening]
  })
  const documents = ends.map(row => {
    judge(row.document, VERDICTS.permit_end, `end ${row.chain_ordinal} of ${row.owner}`)
    const end: PermitEnd = JSON.parse(row.document)
    checkEntry(end)
    expect(row).toMatchObject({
      chain_ordinal: end.leaf.tenant_ordinal,
      leaf_digest: referenceDigest(end.leaf),
      log_index: Number(end.entry.logIndex),
      ended_at: Date.parse(end.end_clock),
    })
    return end
  })
  const redemptions = redeemed.map(({ permit_id, redeemed_at, redemption_entry }) => {
    const leaf = redemptionLeaf(permit_id, new Date(redeemed_at).toISOString())
    const anchor = { leaf, entry: JSON.parse(redemption_entry) }
    checkEntry(anchor)
    return anchor
  })
  return { openings, ends: documents, redemptions }
}

const rowOf = ({ reservation, leaf, entry, ...opening }: Opening) => ({
  permit_id: opening.permit_id,
  program_id: opening.sections.envelope.program_id,
  route_id: opening.sections.envelope.route_id,
  audience: opening.audience,
  charge_id: reservation.charge_id,
  window_seconds: reservation.window_seconds,
  window_start: Date.parse(reservation.window_start),
  cap: reservation.cap,
  reserved: reservation.tokens,
  opened_at: Date.parse(opening.sections.envelope.admission_clock),
  expires_at: Date.parse(opening.expires_at),
  close_by: Date.parse(opening.close_by),
  redeem_required: opening.redeem_required === true,
  chain_ordinal: leaf.tenant_ordinal,
  leaf_digest: referenceDigest(leaf),
  log_index: Number(entry.logIndex),
  opening_hash: opening.opening_hash,
})

/** A permit is closed by one run or ended by one document, or it is open. */
function checkStates(permits: Tables["permits"], ends: readonly PermitEnd[]): void {
  const ended = ends.flatMap(end => end.openings.map(({ permit_id }) => `${permit_id} ${end.leaf.tenant_ordinal}`))
  expect(new Set(ended).size).toBe(ended.length)
  const shown = permits.filter(row => row.state === "ended").map(row => `${row.permit_id} ${row.end_ordinal}`)
  expect(shown.sort()).toEqual(ended.sort())
  for (const { state, run_id, end_ordinal } of permits) {
    expect(run_id > 0).toBe(state === "closed" || state === "refused")
    expect(end_ordinal > 0).toBe(state === "ended")
  }
}
