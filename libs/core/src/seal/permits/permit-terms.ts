/** What a permit is asked for, and the times that follow from its admission. */
import { OPENING_KIND, type OpeningSections } from "../../artifacts/opening.ts"
import type { AllowToken } from "../../artifacts/sealed-artifacts.ts"
import type { BudgetWindow, EnvelopeSection } from "../../artifacts/sealed-sections.ts"
import type { Sections } from "../../artifacts/sections.ts"
import { permitId } from "../../formulas/moment.ts"
import { clockMillis } from "../../vocabulary/scalars.ts"
import type { DraftFacts, PermitTerms, Spending } from "../draft.ts"
import type { OpeningDraft } from "./pending.ts"

/** What the caller asks for. */
export type AskedPermit = Pick<PermitTerms, "audience" | "redeem_required" | "reserve_tokens"> & {
  readonly valid_for_seconds: number
  readonly close_within_seconds: number
}

/** The terms of the permit of an envelope. */
export function termsOf({ hash, admission_clock }: EnvelopeSection, asked: AskedPermit): PermitTerms {
  const { audience, redeem_required, reserve_tokens, valid_for_seconds, close_within_seconds } = asked
  const at = clockMillis(admission_clock)
  if (at === undefined) throw new RangeError("the admission clock is not one of ours")
  const expires_at = at + valid_for_seconds * 1000
  return {
    permit_id: permitId(hash),
    audience,
    expires_at: new Date(expires_at).toISOString(),
    close_by: new Date(expires_at + close_within_seconds * 1000).toISOString(),
    redeem_required,
    reserve_tokens,
  }
}

/** An opening that every gate admitted. */
type Admitted = {
  readonly facts: Pick<DraftFacts, "tenant">
  readonly spending: Pick<Spending, "run_limit">
  readonly allow_token: AllowToken
  readonly sections: Sections
}

/** The opening, once its tokens are reserved. */
export function openingDraft(
  { reserve_tokens: _tokens, redeem_required, ...terms }: PermitTerms,
  { facts, spending, allow_token, sections }: Admitted,
  reservation: BudgetWindow,
): OpeningDraft {
  return {
    kind: OPENING_KIND,
    tenant_id: facts.tenant.tenant_id,
    ...terms,
    ...(redeem_required ? { redeem_required } : {}),
    sections: openingSections(sections),
    allow_token,
    run_limit: spending.run_limit,
    reservation,
  }
}

/** The sections of an opening: what was asked, and what the policy decided of it. What follows from these is derived at the close. */
const openingSections = (sections: Sections): OpeningSections => ({
  ...requestSections(sections),
  ...(sections.approvals === undefined ? {} : { approvals: sections.approvals }),
})

/** The same without what persons decided. @throws Error for a run that did not come to the policy gate */
export function requestSections(sections: Sections): Omit<OpeningSections, "approvals"> {
  const { payload, system_provenance, envelope, end_user, act, policy_evaluation, mcd_finding } = sections
  const { attested_context, request_substance, authorization_chain } = sections
  const { regulatory_scaffolding, causal_graph, reproducibility_context } = sections
  if (envelope === undefined || policy_evaluation === undefined)
    throw new Error("what a permit is asked for with came to the policy gate")
  return {
    payload,
    attested_context,
    request_substance,
    authorization_chain,
    regulatory_scaffolding,
    causal_graph,
    reproducibility_context,
    system_provenance,
    envelope,
    ...(end_user === undefined ? {} : { end_user }),
    ...(act === undefined ? {} : { act }),
    policy_evaluation,
    ...(mcd_finding === undefined ? {} : { mcd_finding }),
  }
}
