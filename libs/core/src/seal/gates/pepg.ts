/** Gate PEPG: signature scan, then policy. A deny stops the run before any kernel, and so does a match unless the scan only observes. */
import type { ActTable } from "../../act/act-table.ts"
import type { ReadAct } from "../../act/read-act.ts"
import type { ActSection } from "../../artifacts/act-section.ts"
import { type ShownApprovals, shownApprovals } from "../../artifacts/approvals.ts"
import type { Opening } from "../../artifacts/opening.ts"
import type { AllowToken, McdFinding } from "../../artifacts/sealed-artifacts.ts"
import type { Sections } from "../../artifacts/sections.ts"
import type { PepgDecision } from "../../formulas/decision.ts"
import { allowToken, denyReceipt, mcdFinding, policyEvaluationSection } from "../../formulas/decision.ts"
import type { DecidedRun, Moment } from "../../formulas/moment.ts"
import { actSection } from "../../formulas/pre-execution.ts"
import type { Seal, Unsealed } from "../../formulas/seal.ts"
import { MCD_REASON_CODE } from "../../vocabulary/decision-codes.ts"
import type { Submission } from "../../wire/submission.ts"
import type { DecidedSections, DecidingPolicy, DecisionFacts } from "../deciding-policy.ts"
import type { Stop } from "../draft.ts"
import type { AskedPermit } from "../permits/permit-terms.ts"
import type { Scan, ScannedText } from "./scanned-texts.ts"

/** What rules see of a payload: the act, by a table, and whether the payload is JSON. */
export type PayloadFacts = { readonly act?: ReadAct; readonly payload_is_json: boolean }
/** Rejects with StageFailure, or with the refusal of a request, as a scan does. */
export type ReadPayload = (payload: string, table: ActTable | undefined) => Promise<PayloadFacts>

export type PepgContext = {
  readonly policy: DecidingPolicy
  readonly library: { readonly library_hash: string }
  /** Searches texts for the library's signatures. */
  readonly scan: Scan
  /** Reads what rules see of a payload. */
  readonly readPayload: ReadPayload
  readonly region: string
  /** Bound on the declared strings scanned: the largest body the server accepts. */
  readonly max_scan_units: number
}

export type PepgPass = {
  /** The finding is one that was observed. */
  readonly sections: Pick<Sections, "act" | "approvals" | "mcd_finding"> & Required<Pick<Sections, "policy_evaluation">>
  readonly allow_token: AllowToken
}
export type PepgResult = { readonly pass: PepgPass } | { readonly stop: Stop }

async function find(
  run: DecidedRun,
  texts: readonly ScannedText[],
  context: PepgContext,
): Promise<Unsealed<McdFinding> | undefined> {
  const match = await context.scan(texts, context.policy.signature_scan.disabled)
  const found = match && texts[match.index]?.found()
  if (match === undefined || found === undefined) return undefined
  return mcdFinding(run, {
    category: match.category,
    severity: match.severity,
    library_hash: context.library.library_hash,
    matched_signature_id: match.signature_id,
    ...found,
  })
}

const matched = (finding: McdFinding): PepgDecision => ({
  decision: "deny",
  fired_rule_id: finding.matched_signature_id,
  decision_reason_code: MCD_REASON_CODE,
  matched_rule_ids: [],
})

/** What a run is decided on beside its other sections. */
export type Grounds = {
  readonly act?: ActSection
  /** Of a run that ends a request for an approval, and of the close of a permit that one was given for. */
  readonly approvals?: ShownApprovals
  readonly facts: DecisionFacts
}

/** The terms of a permit, as rules read them. */
const termsOf = ({ audience, redeem_required, valid_for_seconds }: AskedPermit) => ({
  audience,
  redeem_required,
  valid_for_seconds,
})

/** Of a policy: what decides which payloads are read. */
type PayloadReader = Pick<DecidingPolicy, "readerOf" | "reads">

/** What rules see of a payload, as a policy asks for it; undefined where no rule sees anything. */
export const payloadAsked = (
  { readerOf, reads }: PayloadReader,
  route_id: string,
): { readonly table: ActTable | undefined } | undefined => {
  const table = readerOf(route_id)?.table
  return table === undefined && !reads.has(PAYLOAD_IS_JSON) ? undefined : { table }
}
const PAYLOAD_IS_JSON = "verified.payload_is_json"

/**
 * What a request is decided on.
 * @param asked present exactly for the opening of a permit
 * @param seen what `payloadAsked` asked for
 */
export function requestGrounds(
  { route_id, declared_tokens }: Pick<Submission, "route_id" | "declared_tokens">,
  { asked, seen }: { readonly asked?: AskedPermit | undefined; readonly seen: PayloadFacts | undefined },
  moment: Pick<Moment, "seed">,
  policy: PayloadReader,
  seal: Seal,
): Grounds {
  const table = policy.readerOf(route_id)?.table
  return {
    ...(table === undefined || seen?.act === undefined ? {} : { act: seal(actSection(moment, table.name, seen.act)) }),
    facts: {
      tokens: asked?.reserve_tokens ?? declared_tokens,
      ...(seen !== undefined && policy.reads.has(PAYLOAD_IS_JSON) ? { payload_is_json: seen.payload_is_json } : {}),
      ...(asked && termsOf(asked)),
    },
  }
}

/** What a close is decided on: as its opening was, but for the tokens that were used. */
export function closingGrounds({ sections }: Pick<Opening, "sections">, tokens: number): Grounds {
  const approvals = sections.approvals && shownApprovals(sections.approvals)
  return {
    ...(sections.act === undefined ? {} : { act: sections.act }),
    ...(approvals === undefined ? {} : { approvals }),
    facts: { ...sections.policy_evaluation.facts, tokens },
  }
}

/** @param texts that are searched for signatures */
export async function pepgGate(
  run: DecidedRun,
  sections: Omit<DecidedSections, "envelope" | "act" | "approvals">,
  { act, approvals, facts }: Grounds,
  texts: readonly ScannedText[],
  context: PepgContext,
  seal: Seal,
): Promise<PepgResult> {
  const { policy, library } = context
  const found = await find(run, texts, context)
  const finding = found && seal(found)
  const acted = { ...(act === undefined ? {} : { act }), ...(approvals === undefined ? {} : { approvals }) }
  const { decision, context_hash }: { readonly decision: PepgDecision; readonly context_hash?: string } =
    finding === undefined || policy.signature_scan.mode === "observe"
      ? policy.decide({ ...sections, ...acted, envelope: run.envelope }, facts)
      : { decision: matched(finding) }
  const grounds = {
    library_hash: library.library_hash,
    finding,
    act,
    end_user: sections.end_user,
    approvals,
    facts,
    context_hash,
  }
  const evaluation = seal(policyEvaluationSection(run, policy, decision, grounds))
  const made = { ...acted, policy_evaluation: evaluation, ...(finding === undefined ? {} : { mcd_finding: finding }) }
  if (decision.decision === "allow") return { pass: { sections: made, allow_token: seal(allowToken(evaluation)) } }
  const receipt = seal(denyReceipt(evaluation, finding))
  return { stop: { outcome: "pepg_deny", key: "deny_receipt", receipt, sections: made } }
}
