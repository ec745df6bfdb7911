/** The row of a permit as its opening writes it, or the run that it was refused as. */
import type { Draft, PermitTerms } from "@runseal/core/seal/draft"
import type { Rows, SealedRun } from "./batch.ts"

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
