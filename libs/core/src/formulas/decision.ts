/** Preimages of decisions: the policy evaluation, the allow token, the finding and the receipts. docs/formats.md section 3. */
import { digest } from "@runseal/canonical"
import type { ActSection } from "../artifacts/act-section.ts"
import type { ShownApprovals } from "../artifacts/approvals.ts"
import type { EfaSection } from "../artifacts/derived-sections.ts"
import type { EndUserSection } from "../artifacts/end-user.ts"
import type {
  AivpT4HaltReceipt,
  AllowToken,
  AttestationGapReceipt,
  CcvHaltReceipt,
  DenyReceipt,
  MaccHaltReceipt,
  McdFinding,
} from "../artifacts/sealed-artifacts.ts"
import type {
  BudgetSnapshotSection,
  BudgetWindow,
  EnvelopeSection,
  GovernanceReviewSection,
  NeededApproval,
  PolicyEvaluationSection,
} from "../artifacts/sealed-sections.ts"
import {
  type AttestedField,
  MCD_REASON_CODE,
  type PepgReasonCode,
  type SignatureScan,
} from "../vocabulary/decision-codes.ts"
import { AIVP_HALT_CODES } from "../vocabulary/review-codes.ts"
import { EVALUATORS } from "../vocabulary/versions.ts"
import { type DecidedRun, decisionClock } from "./moment.ts"
import type { Unsealed } from "./seal.ts"

export type PolicyIdentity = {
  readonly policy_id: string
  readonly policy_name: string
  readonly profile_tag?: string
  readonly policy_hash: string
}

export type PepgDecision = {
  readonly decision: "allow" | "deny"
  readonly fired_rule_id: string
  readonly decision_reason_code: PepgReasonCode
  readonly matched_rule_ids: readonly string[]
  readonly needed?: readonly NeededApproval[]
}

/** Names the policy without its optional tag when it has none. */
const identity = (policy: PolicyIdentity): PolicyIdentity => ({
  policy_id: policy.policy_id,
  policy_name: policy.policy_name,
  policy_hash: policy.policy_hash,
  ...(policy.profile_tag === undefined ? {} : { profile_tag: policy.profile_tag }),
})

/** A policy that runs are evaluated by. */
export type EvaluatedPolicy = PolicyIdentity &
  Pick<PolicyEvaluationSection, "engine" | "engine_version"> & { readonly signature_scan: SignatureScan }

/** What a decision rests on beside the sections that other stages make. */
export type DecisionGrounds = {
  readonly library_hash: string
  readonly finding?: McdFinding | undefined
  readonly act?: ActSection | undefined
  readonly end_user?: EndUserSection | undefined
  readonly approvals?: ShownApprovals | undefined
  readonly facts: PolicyEvaluationSection["facts"]
  /** Present exactly where rules were asked. */
  readonly context_hash?: string | undefined
}

/** What the PEPG gate decided and why. */
export const policyEvaluationSection = (
  run: DecidedRun,
  policy: EvaluatedPolicy,
  decision: PepgDecision,
  { library_hash, finding, act, end_user, approvals, facts, context_hash }: DecisionGrounds,
): Unsealed<PolicyEvaluationSection> => ({
  kind: "vfa.policy_evaluation.v3",
  envelope_id: run.envelope.envelope_id,
  ...identity(policy),
  ...decision,
  signature_library_hash: library_hash,
  signature_scan: policy.signature_scan,
  ...(finding === undefined ? {} : { mcd_finding_hash: finding.hash }),
  engine: policy.engine,
  engine_version: policy.engine_version,
  ...(act === undefined ? {} : { act_hash: act.hash }),
  ...(end_user === undefined ? {} : { end_user_hash: end_user.hash }),
  ...(approvals === undefined ? {} : { approvals_hash: approvals.hash, approval_request_hash: approvals.request_hash }),
  facts,
  ...(context_hash === undefined ? {} : { context_hash }),
  evaluation_clock: decisionClock(run),
  evaluator_version: EVALUATORS.pepg,
})

export type SignatureMatchFacts = Pick<
  McdFinding,
  "category" | "severity" | "library_hash" | "matched_signature_id" | "matched_in" | "text_fingerprint"
>

/**
 * Fingerprint of a declared text that matched: with its section's salt, since it could be guessed from a bare hash when the section is
 * withheld.
 */
export const declaredTextFingerprint = (salt: string, text: string): string =>
  digest({ kind: "vfa.matched_text.v1", salt, text })

/** A signature match of Malicious Code Defense. */
export const mcdFinding = (run: DecidedRun, match: SignatureMatchFacts): Unsealed<McdFinding> => ({
  version: "vfa.mcd_finding.v2",
  category: match.category,
  severity: match.severity,
  library_hash: match.library_hash,
  matched_signature_id: match.matched_signature_id,
  matched_in: match.matched_in,
  text_fingerprint: match.text_fingerprint,
  envelope_id: run.envelope.envelope_id,
  finding_clock: decisionClock(run),
})

const decided = (
  evaluation: PolicyEvaluationSection,
): Pick<
  AllowToken,
  "envelope_id" | "fired_rule_id" | "decision_reason_code" | "policy_hash" | "evaluation_hash" | "evaluator_version"
> => ({
  envelope_id: evaluation.envelope_id,
  fired_rule_id: evaluation.fired_rule_id,
  decision_reason_code: evaluation.decision_reason_code,
  policy_hash: evaluation.policy_hash,
  evaluation_hash: evaluation.hash,
  evaluator_version: evaluation.evaluator_version,
})

/** The token under which kernels may run. */
export const allowToken = (evaluation: PolicyEvaluationSection): Unsealed<AllowToken> => ({
  version: "vfa.allow_token.v1",
  ...decided(evaluation),
  allow_clock: evaluation.evaluation_clock,
})

/** Every receipt of ours requires its log entry. */
const REQUIRED = { anchor_required: true } as const

/** Receipt of a refusal by the policy gate; a rule's deny names no finding, also where a match was observed. */
export const denyReceipt = (
  evaluation: PolicyEvaluationSection,
  finding: McdFinding | undefined,
): Unsealed<DenyReceipt> => ({
  version: "vfa.deny_receipt.v1",
  ...REQUIRED,
  ...decided(evaluation),
  ...(finding === undefined || evaluation.decision_reason_code !== MCD_REASON_CODE
    ? {}
    : { mcd_finding_hash: finding.hash }),
  deny_clock: evaluation.evaluation_clock,
})

/** The budgets that this run was checked against. Its hash is the receipts' budget_hash. @param purpose of an opening that is refused */
export const budgetSnapshotSection = (
  envelope: EnvelopeSection,
  runLimit: number,
  declaredTokens: number,
  window: BudgetWindow | undefined,
  purpose?: BudgetSnapshotSection["purpose"],
): Unsealed<BudgetSnapshotSection> => ({
  kind: "vfa.budget_snapshot.v1",
  envelope_id: envelope.envelope_id,
  tenant_id: envelope.tenant_id,
  run_limit: runLimit,
  declared_tokens: declaredTokens,
  ...(purpose === undefined ? {} : { purpose }),
  ...(window === undefined ? {} : { window }),
})

/** Receipt of a halt by the per-run budget. */
export const ccvHaltReceipt = (
  run: DecidedRun,
  token: AllowToken,
  efa: EfaSection,
  budget: BudgetSnapshotSection,
): Unsealed<CcvHaltReceipt> => ({
  version: "vfa.ccv_halt.v1",
  ...REQUIRED,
  envelope_id: run.envelope.envelope_id,
  halt_reason_code: "TOKEN_BUDGET_EXCEEDED",
  constraint_type: "token_budget",
  budget_limit: budget.run_limit,
  consumed_at_halt: budget.declared_tokens,
  budget_hash: budget.hash,
  allow_token_hash: token.hash,
  partial_execution_hash: efa.hash,
  halt_clock: decisionClock(run),
  evaluator_version: EVALUATORS.ccv,
})

/** Receipt of a halt by the tenant's cumulative budget. */
export const maccHaltReceipt = (
  run: DecidedRun,
  token: AllowToken,
  budget: BudgetSnapshotSection,
  window: BudgetWindow,
): Unsealed<MaccHaltReceipt> => ({
  version: "vfa.macc_halt.v1",
  ...REQUIRED,
  envelope_id: run.envelope.envelope_id,
  tenant_id: run.envelope.tenant_id,
  halt_reason_code: "CUMULATIVE_TOKEN_BUDGET_EXCEEDED",
  constraint_type: "cumulative_token_budget",
  budget_limit: window.cap,
  cumulative_at_halt: window.total_after,
  per_run_consumption: window.tokens,
  window_start: window.window_start,
  budget_hash: budget.hash,
  allow_token_hash: token.hash,
  halt_clock: decisionClock(run),
  evaluator_version: EVALUATORS.macc,
})

export type ReviewFacts = Pick<
  GovernanceReviewSection,
  "adapter_id" | "model" | "decision_kind" | "decision_reason" | "rule_ids" | "finding_count"
>

/** The Tier-4 governance review: codes and counts, never a reviewer's words. */
export const governanceReviewSection = (
  run: DecidedRun,
  review: ReviewFacts,
  aiOutputHash: string | undefined,
): Unsealed<GovernanceReviewSection> => ({
  kind: "vfa.governance_review.v1",
  envelope_id: run.envelope.envelope_id,
  ...review,
  ...(aiOutputHash === undefined ? {} : { ai_output_hash: aiOutputHash }),
  review_clock: decisionClock(run),
  evaluator_version: EVALUATORS.aivp_t4,
})

/** Receipt of a halt by the governance review; undefined for a release or a review without AI output. */
export function aivpT4HaltReceipt(
  token: AllowToken,
  review: GovernanceReviewSection,
): Unsealed<AivpT4HaltReceipt> | undefined {
  if (review.decision_kind === "release" || review.ai_output_hash === undefined) return undefined
  return {
    version: "vfa.aivp_t4_halt.v1",
    ...REQUIRED,
    envelope_id: review.envelope_id,
    adapter_id: review.adapter_id,
    ai_output_hash: review.ai_output_hash,
    allow_token_hash: token.hash,
    decision_kind: review.decision_kind,
    decision_reason: review.decision_reason,
    halt_reason_code: AIVP_HALT_CODES[review.decision_kind],
    review_hash: review.hash,
    halt_clock: review.review_clock,
    evaluator_version: review.evaluator_version,
  }
}

/** Receipt of a run not admitted because attested fields are missing. Both lists are sorted and without repeats. */
export const attestationGapReceipt = (
  run: DecidedRun,
  policy: PolicyIdentity,
  required: readonly AttestedField[],
  missing: readonly AttestedField[],
): Unsealed<AttestationGapReceipt> => ({
  version: "vfa.attestation_gap_receipt.v1",
  ...REQUIRED,
  envelope_id: run.envelope.envelope_id,
  decision_reason_code: "ATTESTATION_GAP",
  ...identity(policy),
  required_fields: required,
  missing_fields: missing,
  gap_clock: decisionClock(run),
  evaluator_version: EVALUATORS.admission,
})

/** Start of the fixed budget window that holds an instant: windows are aligned to the epoch. docs/formats.md section 3.9. */
export const windowStart = (millis: number, windowSeconds: number): number =>
  Math.floor(millis / (windowSeconds * 1000)) * windowSeconds * 1000

/** Commitment to a tenant in a public leaf: opened by `run.tenant_id` and `run.tenant_salt`. docs/formats.md section 7.3. */
export const tenantCommitment = (tenantId: string, tenantSalt: string): string =>
  digest({ kind: "vfa.tenant_commitment.v1", tenant_id: tenantId, tenant_salt: tenantSalt })
