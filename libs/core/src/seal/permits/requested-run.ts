/** A request for an approval that ends: the run of its permit, received anew from the sealed request. No payload is needed for it. */
import { writtenTexts } from "@runseal/canonical"
import { shownAct } from "../../artifacts/act-section.ts"
import {
  APPROVAL_REQUEST_KIND,
  type ApprovalRequest,
  type ApprovalRequestBody,
} from "../../artifacts/approval-request.ts"
import type { GivenApprovals } from "../../artifacts/approvals.ts"
import { DECLARED_NAMES, type DeclaredName, type ShownDeclared, shown } from "../../artifacts/declared-sections.ts"
import { shownEndUser } from "../../artifacts/end-user.ts"
import type { SystemProvenanceSection } from "../../artifacts/sealed-sections.ts"
import { declaredTextFingerprint } from "../../formulas/decision.ts"
import { approvalId, type Moment } from "../../formulas/moment.ts"
import { actSection, approvalsSection, declaredSection, resaltedEndUser } from "../../formulas/pre-execution.ts"
import { textsAt } from "../../vocabulary/declared-places.ts"
import { clockMillis } from "../../vocabulary/scalars.ts"
import type { Tenant } from "../../wire/submission.ts"
import type { BaseSections, Draft, Spending } from "../draft.ts"
import type { Grounds, PepgContext } from "../gates/pepg.ts"
import type { ScannedText } from "../gates/scanned-texts.ts"
import type { ReceivedRun } from "../received-run.ts"
import type { Watch } from "../stage-failure.ts"
import { type AskedPermit, requestSections } from "./permit-terms.ts"

/** A request whose end is to be sealed, with what persons decided. */
export type EndedRequest = {
  readonly tenant: Tenant
  readonly request: ApprovalRequest
  readonly given: GivenApprovals
}

/** What a request asked for. */
export const askedOf = ({
  audience,
  valid_for_seconds,
  close_within_seconds,
  reserve_tokens,
}: Pick<
  ApprovalRequest,
  "audience" | "valid_for_seconds" | "close_within_seconds" | "reserve_tokens"
>): AskedPermit => ({ audience, valid_for_seconds, close_within_seconds, reserve_tokens, redeem_required: true })

/** The body of a request, without the salt that opens the tenant's commitment: the sealer knows it. */
export type RequestDraft = Omit<ApprovalRequestBody, "tenant_salt">

/**
 * The request that a refused opening is made into.
 * @returns undefined where nobody can approve it: it is only observed, or a rule requires an end user and there is none
 */
export function requestDraft({ tenant, outcome_kind, sections }: Draft, asked: AskedPermit): RequestDraft | undefined {
  const { policy_evaluation: evaluation, envelope, end_user } = sections
  if (outcome_kind !== "pepg_deny" || evaluation?.decision_reason_code !== "APPROVAL_REQUIRED") return undefined
  const { needed = [] } = evaluation
  if (envelope === undefined || envelope.enforcement !== undefined || needed.length === 0) return undefined
  if (end_user === undefined && needed.some(rule => rule.end_user !== "optional")) return undefined
  const at = clockMillis(envelope.admission_clock)
  if (at === undefined) throw new RangeError("the admission clock is not one of ours")
  const shortest = Math.min(...needed.map(({ within_seconds }) => within_seconds))
  const { redeem_required: _always, ...terms } = asked
  return {
    kind: APPROVAL_REQUEST_KIND,
    tenant_id: tenant.tenant_id,
    approval_id: approvalId(envelope.hash),
    ...terms,
    expires_at: new Date(at + shortest * 1000).toISOString(),
    sections: requestSections(sections),
  }
}

type RequestedContext = {
  readonly region: string
  readonly system_provenance: SystemProvenanceSection
  readonly watch: Pick<Watch, "monotonicMs">
}

/** The run of a request, under a moment of its own: new salts, and an envelope that is still to be made. */
export function requestedRun(
  { tenant, request }: Omit<EndedRequest, "given">,
  moment: Moment,
  spending: Spending,
  { region, system_provenance, watch }: RequestedContext,
): ReceivedRun {
  const texts = writtenTexts()
  const { seal } = texts
  const { sections } = request
  const { program_id, route_id, registry_record_hash } = sections.envelope
  const again = (name: DeclaredName): ShownDeclared => {
    const section = held(shown(sections[name]), name)
    return seal(declaredSection(name, moment, section.declared, section.origin))
  }
  const person = sections.end_user && held(shownEndUser(sections.end_user), "end_user")
  const base: BaseSections & Record<DeclaredName, ShownDeclared> = {
    payload: sections.payload,
    attested_context: again("attested_context"),
    request_substance: again("request_substance"),
    authorization_chain: again("authorization_chain"),
    regulatory_scaffolding: again("regulatory_scaffolding"),
    causal_graph: again("causal_graph"),
    reproducibility_context: again("reproducibility_context"),
    system_provenance,
    ...(person && { end_user: seal(resaltedEndUser(moment, person)) }),
  }
  const declared = Object.fromEntries(
    Object.entries(base).flatMap(([name, section]) =>
      "declared" in section && section.declared !== undefined ? [[name, section.declared]] : [],
    ),
  )
  return {
    facts: { moment, tenant, program_id, route_id, execution_region: region, started_ms: watch.monotonicMs(), texts },
    decided: { program_id, route_id, registry_record_hash, declared, declared_tokens: 0 },
    spending,
    base,
  }
}

/** What the end of a request is decided on: as it was asked for, with what persons decided of it. */
export function requestedGrounds(
  { request: { sections }, given }: Pick<EndedRequest, "request" | "given">,
  { facts: { moment, texts } }: Pick<ReceivedRun, "facts">,
): Grounds {
  const act = sections.act && held(shownAct(sections.act), "act")
  return {
    ...(act === undefined ? {} : { act: texts.seal(actSection(moment, act.table, act)) }),
    approvals: texts.seal(approvalsSection(moment, given)),
    facts: sections.policy_evaluation.facts,
  }
}

/**
 * The scan of a request, as it was made: its texts are not all there any more. What was found and only observed is found again.
 * @returns what replaces the texts, and the context that finds it
 */
export function requestedScan<Context extends PepgContext>(
  { sections }: ApprovalRequest,
  { base }: Pick<ReceivedRun, "base">,
  context: Context,
): { readonly texts: readonly ScannedText[]; readonly context: Context } {
  const { mcd_finding: finding, policy_evaluation } = sections
  const library = { library_hash: policy_evaluation.signature_library_hash }
  if (finding === undefined) return { texts: [], context: { ...context, library, scan: async () => undefined } }
  const { category, severity, matched_signature_id: signature_id, matched_in } = finding
  const [, place = "", ...segments] = matched_in.split("/")
  const name = DECLARED_NAMES.find(each => each === place)
  const [old, anew] = name === undefined ? [] : [shown(sections[name]), shown(base[name])]
  const text = textsAt(old?.declared, segments).find(
    each => declaredTextFingerprint(old?.salt ?? "", each) === finding.text_fingerprint,
  )
  const text_fingerprint =
    anew === undefined || text === undefined ? finding.text_fingerprint : declaredTextFingerprint(anew.salt, text)
  const found = { location: matched_in, text: text ?? "", found: () => ({ matched_in, text_fingerprint }) }
  return {
    texts: [found],
    context: { ...context, library, scan: async () => ({ signature_id, category, severity, index: 0 }) },
  }
}

/** What the service stores is never withheld. */
function held<Section>(section: Section | undefined, name: string): Section {
  if (section === undefined) throw new Error(`the stored request withholds ${name}`)
  return section
}
