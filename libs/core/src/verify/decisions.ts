/** Tokens, receipts, the finding, budgets and the review, each against the sections it speaks of. docs/formats.md section 16, check 3. */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import { receiptOf } from "../artifacts/bundle-schema.ts"
import type { BudgetWindow, EnvelopeSection } from "../artifacts/sections.ts"
import {
  aivpT4HaltReceipt,
  allowToken,
  attestationGapReceipt,
  ccvHaltReceipt,
  denyReceipt,
  maccHaltReceipt,
  windowStart,
} from "../formulas/decision.ts"
import { chargeId } from "../formulas/moment.ts"
import { isSealOf, sealHash } from "../formulas/seal.ts"
import { shown } from "../kernels/kernel.ts"
import { missingAttestedFields } from "../vocabulary/attested-presence.ts"
import { ATTESTED_FIELDS, MCD_REASON_CODE } from "../vocabulary/decision-codes.ts"
import { member } from "../vocabulary/json-members.ts"
import type { ReceiptKey } from "../vocabulary/outcomes.ts"
import { clockMillis } from "../vocabulary/scalars.ts"
import {
  evaluationContradictions,
  findingContradictions,
  receiptContradictions,
  reviewContradictions,
} from "./contradictions.ts"
import type { Findings } from "./report.ts"
import { failedInSealing, refusingGate } from "./stage-error.ts"

/** All of check 3 on a bundle. */
export function checkDecisions(bundle: BundleBody, findings: Findings, known?: KnownTexts): void {
  checkEvaluation(bundle, findings)
  checkToken(bundle, findings, known)
  checkFinding(bundle, findings)
  checkBudget(bundle, findings)
  checkReview(bundle, findings)
  checkReceipt(bundle, findings, known)
  checkRefusal(bundle, findings)
}

/**
 * A stage_error whose decisions say that a gate had stopped it can only have failed where refusals are sealed. What asked nobody, and
 * lacked nothing, did neither fail nor stop the run.
 */
function checkRefusal(bundle: BundleBody, findings: Findings): void {
  const { run, sections } = bundle
  const gate = refusingGate(bundle)
  const isFailedReview = run.outcome_kind === "stage_error" && run.error_stage === "AIVP_T4"
  if (isFailedReview && sections.payload.ai_output_hash === undefined)
    findings.fail("decision", "a review is said to have failed, and there is no AI output to review")
  const context = shown(sections.attested_context)
  if (gate === "PEPG_ADMISSION" && context !== undefined) {
    const complete = missingAttestedFields(context.declared, ATTESTED_FIELDS).length === 0
    findings.require(
      "decision",
      !complete,
      "the admission gate is said to have refused a run that lacks no attested field",
    )
  }
  if (gate !== undefined)
    findings.require(
      "decision",
      failedInSealing(bundle),
      `gate ${gate} had stopped the run before the step that failed`,
    )
}

function checkEvaluation({ sections, run }: BundleBody, findings: Findings): void {
  const { policy_evaluation: evaluation, envelope } = sections
  if (evaluation === undefined || envelope === undefined) return
  const own =
    evaluation.envelope_id === envelope.envelope_id && evaluation.evaluation_clock === envelope.admission_clock
  findings.require("decision", own, "the policy evaluation speaks of another run")
  for (const problem of evaluationContradictions(evaluation)) findings.fail("decision", problem)
  // Which gate had stopped a stage_error is read from its decisions.
  if (run.outcome_kind === "stage_error") return
  const expected = run.outcome_kind === "pepg_deny" ? "deny" : "allow"
  findings.require("decision", evaluation.decision === expected, `the policy decided ${evaluation.decision}`)
}

function checkToken(
  { allow_token: token, sections }: BundleBody,
  findings: Findings,
  known: KnownTexts | undefined,
): void {
  if (token === undefined) return
  const intact = sealHash(token, known) === token.hash
  findings.require("decision", intact, "the allow token does not match its hash")
  const { policy_evaluation: evaluation } = sections
  const linked = evaluation !== undefined && isSealOf(token, allowToken(evaluation), intact)
  findings.require("decision", linked, "the allow token is not the one the policy evaluation gives")
}

function checkFinding({ sections }: BundleBody, findings: Findings): void {
  const { mcd_finding: finding, policy_evaluation: evaluation, envelope } = sections
  if (evaluation === undefined || envelope === undefined) return
  const matched = evaluation.decision_reason_code === MCD_REASON_CODE
  findings.require("decision", matched === (finding !== undefined), "finding and reason code do not agree")
  findings.require("decision", evaluation.mcd_finding_hash === finding?.hash, "the evaluation names another finding")
  if (finding === undefined) return
  const own =
    finding.envelope_id === envelope.envelope_id &&
    finding.finding_clock === envelope.admission_clock &&
    finding.payload_fingerprint === envelope.payload_hash &&
    finding.library_hash === evaluation.signature_library_hash &&
    finding.matched_signature_id === evaluation.fired_rule_id
  findings.require("decision", own, "the finding speaks of another run, library or signature")
  for (const problem of findingContradictions(finding)) findings.fail("decision", problem)
}

function checkBudget({ sections, run }: BundleBody, findings: Findings): void {
  const { budget_snapshot: budget, envelope } = sections
  if (budget === undefined || envelope === undefined) return
  const own = budget.envelope_id === envelope.envelope_id && budget.tenant_id === envelope.tenant_id
  findings.require("decision", own, "the budget snapshot speaks of another run")
  const substance = shown(sections.request_substance)
  if (substance !== undefined) {
    const declared = member(member(substance.declared, "cost"), "total_tokens") ?? 0
    findings.require("decision", declared === budget.declared_tokens, "the budget counts other tokens than declared")
  }
  const over = budget.declared_tokens > budget.run_limit
  findings.require("decision", over === (budget.window === undefined), "a charge stands exactly when CCV passed")
  if (run.outcome_kind !== "stage_error")
    findings.require("decision", over === (run.outcome_kind === "ccv_halt"), "the per-run budget decides otherwise")
  if (budget.window !== undefined) checkWindow(budget.window, { sections, run }, findings)
}

function checkWindow(
  window: BudgetWindow,
  { sections, run }: Pick<BundleBody, "sections" | "run">,
  findings: Findings,
): void {
  const { envelope, budget_snapshot: budget } = sections
  if (envelope === undefined || budget === undefined) return
  const start = windowStart(clockMillis(envelope.admission_clock) ?? Number.NaN, window.window_seconds)
  const charge =
    window.charge_id === chargeId(envelope.hash) &&
    window.tokens === budget.declared_tokens &&
    window.total_after >= window.tokens &&
    clockMillis(window.window_start) === start
  findings.require("decision", charge, "the charge is not this run's, or not of its window")
  if (run.outcome_kind === "stage_error") return
  const over = window.total_after >= window.cap
  findings.require("decision", over === (run.outcome_kind === "macc_halt"), "the window's cap decides otherwise")
}

function checkReview({ sections, run }: BundleBody, findings: Findings): void {
  const { governance_review: review, envelope, payload } = sections
  if (review === undefined || envelope === undefined) return
  const own =
    review.envelope_id === envelope.envelope_id &&
    review.review_clock === envelope.admission_clock &&
    review.ai_output_hash === payload.ai_output_hash
  findings.require("decision", own, "the governance review speaks of another run or output")
  for (const problem of reviewContradictions(review)) findings.fail("decision", problem)
  if (run.outcome_kind === "stage_error") return
  const released = review.decision_kind === "release"
  findings.require(
    "decision",
    released === (run.outcome_kind !== "aivp_t4_halt"),
    "the governance review decides otherwise",
  )
}

/** How each receipt follows from the sections; undefined when one it needs is missing. */
const REBUILD: Readonly<Record<ReceiptKey, (bundle: BundleBody, envelope: EnvelopeSection) => JsonObject | undefined>> =
  {
    deny_receipt: ({ sections: { policy_evaluation: evaluation, mcd_finding: finding } }) =>
      evaluation && denyReceipt(evaluation, finding),
    ccv_halt_receipt: ({ sections: { efa, budget_snapshot: budget }, allow_token: token }, envelope) =>
      token && efa && budget && ccvHaltReceipt(envelope, token, efa, budget),
    macc_halt_receipt: ({ sections: { budget_snapshot: budget }, allow_token: token }, envelope) =>
      token && budget?.window && maccHaltReceipt(envelope, token, budget, budget.window),
    aivp_t4_halt_receipt: ({ sections: { governance_review: review }, allow_token: token }) =>
      token && review && aivpT4HaltReceipt(token, review),
    // The policy's identity and its required fields stand only in the receipt; the rest is rebuilt.
    attestation_gap_receipt: ({ attestation_gap_receipt: gap }, envelope) =>
      gap && attestationGapReceipt(envelope, gap, gap.required_fields, gap.missing_fields),
  }

/** A receipt made before anchor_required existed leaves it out, and is compared in that form. */
function asOld({ anchor_required: _, ...rest }: JsonObject): JsonObject {
  return rest
}

function checkReceipt(bundle: BundleBody, findings: Findings, known: KnownTexts | undefined): void {
  const found = receiptOf(bundle)
  if (found === undefined) return
  const { key, receipt } = found
  const { envelope } = bundle.sections
  const intact = sealHash(receipt, known) === receipt.hash
  findings.require("decision", intact, "the receipt does not match its hash")
  for (const problem of receiptContradictions(receipt)) findings.fail("decision", problem)
  const rebuilt = envelope && REBUILD[key](bundle, envelope)
  const expected = rebuilt === undefined || receipt.anchor_required === true ? rebuilt : asOld(rebuilt)
  const same = expected !== undefined && isSealOf(receipt, expected, intact)
  findings.require("decision", same, "the receipt is not the one the sections give")
  checkGapFields(bundle, findings)
}

/** The missing fields are those of the required ones that the attested context lacks. */
function checkGapFields({ attestation_gap_receipt: gap, sections }: BundleBody, findings: Findings): void {
  const context = shown(sections.attested_context)
  if (gap === undefined || context === undefined) return
  const { missing_fields: missing, required_fields: required } = gap
  const really = missingAttestedFields(context.declared, required)
  findings.require(
    "decision",
    really.length === missing.length && really.every((name, i) => name === missing[i]),
    "the attested context lacks other fields than the receipt says",
  )
}
