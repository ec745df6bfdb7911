/** Gate PEPG: signature scan, then policy. A match or a deny stops the run before any kernel. */
import type { AllowToken, McdFinding } from "@runseal/core/artifacts/sealed-artifacts"
import type { EnvelopeSection, PayloadSection, PolicyEvaluationSection } from "@runseal/core/artifacts/sections"
import type { PepgDecision } from "@runseal/core/formulas/decision"
import { allowToken, denyReceipt, mcdFinding, policyEvaluationSection } from "@runseal/core/formulas/decision"
import type { Seal, Unsealed } from "@runseal/core/formulas/seal"
import { MCD_REASON_CODE } from "@runseal/core/vocabulary/decision-codes"
import type { Submission } from "@runseal/core/wire/submission"
import { evaluatePolicy } from "../../policy/evaluate-policy.ts"
import type { CompiledPolicy } from "../../policy/load-policy.ts"
import type { Scan, ScanText } from "../../policy/scan.ts"
import { declaredTexts } from "../../policy/scan.ts"
import type { SignatureLibrary } from "../../policy/signature-library.ts"
import type { Stop } from "../draft.ts"
import { policyInput } from "./policy-facts.ts"

export type PepgContext = {
  readonly policy: CompiledPolicy
  readonly library: SignatureLibrary
  /** Searches texts for the library's signatures. */
  readonly scan: Scan
  readonly region: string
  /** Bound on the declared strings scanned: the largest body the server accepts. */
  readonly max_scan_units: number
}
export type PepgPass = { readonly policy_evaluation: PolicyEvaluationSection; readonly allow_token: AllowToken }
type PepgResult = { readonly pass: PepgPass } | { readonly stop: Stop }

function scanned(submission: Submission, maxUnits: number): readonly ScanText[] {
  const { payload, ai_output_text: output, declared } = submission
  return [
    { location: "payload", text: payload },
    ...(output === undefined ? [] : [{ location: "ai_output_text", text: output }]),
    { location: "route_id", text: submission.route_id },
    ...Object.entries(declared).flatMap(([name, value]) => declaredTexts(name, value, maxUnits)),
  ]
}

async function find(
  submission: Submission,
  envelope: EnvelopeSection,
  context: PepgContext,
): Promise<Unsealed<McdFinding> | undefined> {
  const match = await context.scan(scanned(submission, context.max_scan_units))
  if (match === undefined) return undefined
  return mcdFinding(envelope, {
    category: match.category,
    severity: match.severity,
    library_hash: context.library.library_hash,
    matched_signature_id: match.signature_id,
  })
}

const matched = (finding: McdFinding): PepgDecision => ({
  decision: "deny",
  fired_rule_id: finding.matched_signature_id,
  decision_reason_code: MCD_REASON_CODE,
  matched_rule_ids: [],
})

export async function pepgGate(
  submission: Submission,
  envelope: EnvelopeSection,
  payload: PayloadSection,
  context: PepgContext,
  seal: Seal,
): Promise<PepgResult> {
  const { policy, library } = context
  const found = await find(submission, envelope, context)
  const finding = found && seal(found)
  const decision =
    finding === undefined
      ? (policy.fixed_decision ?? evaluatePolicy(policy, policyInput(submission, envelope, payload)))
      : matched(finding)
  const evaluation = seal(policyEvaluationSection(envelope, policy, decision, library.library_hash, finding))
  if (decision.decision === "allow")
    return { pass: { policy_evaluation: evaluation, allow_token: seal(allowToken(evaluation)) } }
  const receipt = seal(denyReceipt(evaluation, finding))
  const sections = { policy_evaluation: evaluation, ...(finding === undefined ? {} : { mcd_finding: finding }) }
  return { stop: { outcome: "pepg_deny", key: "deny_receipt", receipt, sections } }
}
