/** Tokens, receipts, the finding, budgets and the review, each against the sections that it follows from. docs/formats.md section 16, check 3. */
import { type JsonObject, sha256Hex } from "@runseal/canonical"
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { shownAct } from "../artifacts/act-section.ts"
import { isEndedReason, shownApprovals } from "../artifacts/approvals.ts"
import type { Bundle, BundleBody } from "../artifacts/bundle-schema.ts"
import { receiptOf } from "../artifacts/bundle-schema.ts"
import { CONTENT_NAMES, shown } from "../artifacts/declared-sections.ts"
import { shownEndUser } from "../artifacts/end-user.ts"
import type { McdFinding } from "../artifacts/sealed-artifacts.ts"
import type { PolicyEvaluationSection } from "../artifacts/sealed-sections.ts"
import type { Sections } from "../artifacts/sections.ts"
import { declaredView } from "../derivation/v2/declared-view.ts"
import {
  aivpT4HaltReceipt,
  allowToken,
  attestationGapReceipt,
  ccvHaltReceipt,
  declaredTextFingerprint,
  denyReceipt,
  maccHaltReceipt,
} from "../formulas/decision.ts"
import { type DecidedRun, decisionClock } from "../formulas/moment.ts"
import { isSealOf, sealHash } from "../formulas/seal.ts"
import { missingAttestedFields } from "../vocabulary/attested-presence.ts"
import { ATTESTED_FIELDS, MCD_REASON_CODE, type PepgReasonCode, scopeOf } from "../vocabulary/decision-codes.ts"
import { textsAt } from "../vocabulary/declared-places.ts"
import { declaredTokens } from "../vocabulary/declared-tokens.ts"
import { isSameJson } from "../vocabulary/json-members.ts"
import type { ReceiptKey } from "../vocabulary/outcomes.ts"
import { checkBudget } from "./budgets.ts"
import { checkClose } from "./close.ts"
import {
  actContradictions,
  approvalContradictions,
  brokenRules,
  endUserContradictions,
  evaluationContradictions,
  findingContradictions,
  receiptContradictions,
  reviewContradictions,
} from "./contradictions.ts"
import type { ExaminedBundle, Findings } from "./examination.ts"
import { passkeyProblems } from "./signed-approvals.ts"
import { failedInSealing, refusingGate } from "./stage-error.ts"

/** All of check 3 on a bundle. */
export function checkDecisions(examined: ExaminedBundle): void {
  checkClose(examined)
  checkPolicyDecision({ ...examined, entry: namingEntry(examined.bundle) })
  checkBudget(examined)
  checkReview(examined)
  checkReceipt(examined)
  checkRefusal(examined)
}

/** The entry by which a record names the log of its service: that of the complete record, or without one the first. docs/formats.md section 2.8. */
export const namingEntry = ({ anchors }: Pick<Bundle, "anchors">): TransparencyLogEntry | undefined =>
  (anchors.complete_record ?? anchors.pre_anchor ?? anchors.receipt)?.entry

/** Whether a record is in a log. A passkey's signature names that log: of a record in none it is not checked. */
export const isLogged = (record: Pick<Bundle, "anchors">): boolean => namingEntry(record) !== undefined

/** A document that holds a decision of the policy gate: a record, or an opening. */
type ExaminedDecision = Pick<ExaminedBundle, "known" | "findings"> & {
  readonly bundle: Pick<BundleBody, "sections" | "allow_token"> & {
    readonly run: Pick<BundleBody["run"], "outcome_kind" | "route_id" | "tenant_id">
  }
  /** Of the document in the log; undefined where it is in none. */
  readonly entry: TransparencyLogEntry | undefined
}

/** The evaluation, the token under it, and the finding beside it. */
export function checkPolicyDecision(examined: ExaminedDecision): void {
  checkEvaluation(examined)
  checkToken(examined)
  checkFinding(examined)
}

/**
 * The record of a stage_error that a gate had stopped: only the sealing of its refusal can have failed. A review without AI output
 * cannot have failed, nor can the admission gate have stopped a run that lacks no attested field.
 */
function checkRefusal({ bundle, findings }: ExaminedBundle): void {
  const { run, sections } = bundle
  const gate = refusingGate(bundle)
  const isFailedReview = run.outcome_kind === "stage_error" && run.error_stage === "AIVP_T4"
  if (isFailedReview && sections.payload.ai_output_hash === undefined)
    findings.fail("decision", "the governance review is named as failed, and there is no AI output to review")
  if (gate === undefined) return
  const context = shown(sections.attested_context)
  const lacksNothing = context !== undefined && missingAttestedFields(context.declared, ATTESTED_FIELDS).length === 0
  if (gate === "PEPG_ADMISSION" && lacksNothing)
    findings.fail("decision", "the run has every attested field, and the admission gate is the one that stopped it")
  const isLate = failedInSealing(bundle)
  findings.require("decision", isLate, `gate ${gate} had stopped the run before the step that failed`)
}

function checkEvaluation({ bundle: { sections, run }, entry, findings }: ExaminedDecision): void {
  const { policy_evaluation: evaluation, envelope } = sections
  if (evaluation === undefined || envelope === undefined) return
  const own =
    evaluation.envelope_id === envelope.envelope_id &&
    evaluation.evaluation_clock === decisionClock({ ...sections, envelope })
  findings.require("decision", own, "the policy evaluation speaks of another run")
  findings.fail("decision", ...evaluationContradictions(evaluation), ...groundContradictions(sections, evaluation))
  findings.fail("decision", ...passkeyProblems(sections, { tenant_id: run.tenant_id, entry }))
  // A gate may have stopped a stage_error too, which its decisions show.
  if (run.outcome_kind === "stage_error") return
  const expected = run.outcome_kind === "pepg_deny" ? "deny" : "allow"
  findings.require("decision", evaluation.decision === expected, `the policy decided ${evaluation.decision}`)
}

/** Denies that come before any rule is asked. */
const ASKS_NO_RULE: readonly PepgReasonCode[] = ["ACT_UNREADABLE", "END_USER_UNREADABLE", MCD_REASON_CODE]

/** Reasons that only a run with approvals has. */
const restsOnApprovals = (code: PepgReasonCode): boolean => code === "RULE_APPROVED" || isEndedReason(code)

/** What persons decided, against the evaluation that names it. */
function approvalGrounds(sections: Sections, evaluation: PolicyEvaluationSection): readonly string[] {
  const { end_user, approvals, envelope } = sections
  const { facts, decision_reason_code: reason } = evaluation
  const person = end_user && shownEndUser(end_user)
  const decided = approvals && shownApprovals(approvals)
  const run = { admission_clock: envelope?.admission_clock ?? "", has_end_user: end_user !== undefined }
  return [
    ...(approvals === undefined ? [] : approvalContradictions(approvals, evaluation, run)),
    ...brokenRules([
      [evaluation.approvals_hash === approvals?.hash, "the evaluation names other approvals"],
      [
        decided === undefined
          ? (evaluation.approval_request_hash === undefined) === (approvals === undefined)
          : evaluation.approval_request_hash === decided.request_hash,
        "the evaluation names another request for an approval",
      ],
      [approvals === undefined || facts.redeem_required === true, "what persons decided on is no act of one permit"],
      [
        person === undefined || decided?.decisions.every(each => each.person.subject !== person.subject) !== false,
        "the end user decided on its own act",
      ],
      [
        approvals !== undefined || !restsOnApprovals(reason),
        "the decision rests on approvals, and the record has none",
      ],
    ]),
  ]
}

/** What the policy was given, against the sections that it was read from. */
function groundContradictions(sections: Sections, evaluation: PolicyEvaluationSection): readonly string[] {
  const { act: section, end_user, budget_snapshot: budget, permit } = sections
  const { facts, decision_reason_code: reason, context_hash } = evaluation
  const act = section && shownAct(section)
  const substance = declaredView(sections, "request_substance")
  const isUnreadable = act !== undefined && act.unreadable.length > 0
  const person = end_user && shownEndUser(end_user)
  const terms = [facts.audience, facts.redeem_required, facts.valid_for_seconds]
  const given = terms.filter(term => term !== undefined).length
  // It is decided on the tokens that it reserves, also where it is refused.
  const isOpening = given > 0 && permit === undefined
  return [
    ...(section === undefined ? [] : actContradictions(section)),
    ...(end_user === undefined ? [] : endUserContradictions(end_user)),
    ...approvalGrounds(sections, evaluation),
    ...brokenRules([
      [evaluation.act_hash === section?.hash, "the evaluation names another act"],
      [evaluation.end_user_hash === end_user?.hash, "the evaluation names another end user"],
      [section !== undefined || reason !== "ACT_UNREADABLE", "an act was unreadable, and the record has none"],
      [
        end_user !== undefined || reason !== "END_USER_UNREADABLE",
        "an end user was unreadable, and the record has none",
      ],
      // A signature that denies comes before the act.
      [
        act === undefined || reason === MCD_REASON_CODE || isUnreadable === (reason === "ACT_UNREADABLE"),
        "the act is unreadable and was decided on, or readable and was not",
      ],
      // An act that cannot be read comes before the end user.
      [
        person === undefined ||
          reason === MCD_REASON_CODE ||
          reason === "ACT_UNREADABLE" ||
          (person.groups_unreadable ?? false) === (reason === "END_USER_UNREADABLE"),
        "the end user is unreadable and was decided on, or readable and was not",
      ],
      [context_hash === undefined || !ASKS_NO_RULE.includes(reason), "rules were asked where the decision needs none"],
      [
        isOpening || substance === undefined || facts.tokens === declaredTokens(substance.declared),
        "the policy was given other tokens than the run declares",
      ],
      [
        budget === undefined || budget.declared_tokens === facts.tokens,
        "the policy was given other tokens than the budgets counted",
      ],
      [given === 0 || given === terms.length, "the policy was given a part of the terms of a permit"],
      [permit === undefined || given > 0, "the policy was not given the terms of the permit"],
    ]),
  ]
}

function checkToken({ bundle: { allow_token: token, sections }, known, findings }: ExaminedDecision): void {
  if (token === undefined) return
  const intact = sealHash(token, known) === token.hash
  findings.require("decision", intact, "the allow token does not match its hash")
  const { policy_evaluation: evaluation } = sections
  const linked = evaluation !== undefined && isSealOf(token, allowToken(evaluation), intact)
  findings.require("decision", linked, "the allow token is not the one the policy evaluation gives")
}

/** Whether the text at the place that a finding names has the fingerprint; a withheld section shows no texts, and is believed. */
function isFingerprint(
  { matched_in: place, text_fingerprint: fingerprint }: McdFinding,
  sections: Sections,
  routeId: string,
): boolean {
  if (place === "payload") return fingerprint === sections.payload.payload_hash
  if (place === "ai_output") return fingerprint === sections.payload.ai_output_hash
  if (place === "/route_id") return fingerprint === sha256Hex(routeId)
  const [, name, ...segments] = place.split("/")
  const declared = CONTENT_NAMES.find(each => each === name)
  const held = declared && sections[declared]
  if (held === undefined) return false
  const section = shown(held)
  if (section === undefined) return true
  const texts = textsAt(section.declared, segments).filter(text => text !== "")
  return texts.some(text => declaredTextFingerprint(section.salt, text) === fingerprint)
}

function checkFinding({ bundle: { sections, run }, findings }: ExaminedDecision): void {
  const { mcd_finding: finding, policy_evaluation: evaluation, envelope } = sections
  if (evaluation === undefined || envelope === undefined) return
  const { mode, disabled, scope } = evaluation.signature_scan
  const denied = evaluation.decision_reason_code === MCD_REASON_CODE
  // A scan that enforces denies on every match; one that observes denies on none.
  const agree = mode === "enforce" ? denied === (finding !== undefined) : !denied
  findings.require("decision", agree, "finding, reason code and mode of the scan do not agree")
  findings.require("decision", evaluation.mcd_finding_hash === finding?.hash, "the evaluation names another finding")
  if (finding === undefined) return
  const searched = scope.includes(scopeOf(finding.matched_in)) && !disabled.includes(finding.matched_signature_id)
  findings.require("decision", searched, "the finding is of a text or a signature that was not searched")
  const found = isFingerprint(finding, sections, run.route_id)
  findings.require("decision", found, "no text at the finding's place has its fingerprint")
  const own =
    finding.envelope_id === envelope.envelope_id &&
    finding.finding_clock === decisionClock({ ...sections, envelope }) &&
    finding.library_hash === evaluation.signature_library_hash &&
    (!denied || finding.matched_signature_id === evaluation.fired_rule_id)
  findings.require("decision", own, "the finding speaks of another run, library or signature")
  findings.fail("decision", ...findingContradictions(finding))
}

function checkReview({ bundle: { sections, run }, findings }: ExaminedBundle): void {
  const { governance_review: review, envelope, payload } = sections
  if (review === undefined || envelope === undefined) return
  const own =
    review.envelope_id === envelope.envelope_id &&
    review.review_clock === decisionClock({ ...sections, envelope }) &&
    review.ai_output_hash === payload.ai_output_hash
  findings.require("decision", own, "the governance review speaks of another run or output")
  findings.fail("decision", ...reviewContradictions(review))
  if (run.outcome_kind === "stage_error") return
  const fits = (review.decision_kind === "release") === (run.outcome_kind !== "aivp_t4_halt")
  findings.require("decision", fits, "the governance review decides otherwise")
}

/** How each receipt follows from the sections; undefined when one it needs is missing. */
const REBUILD: Readonly<Record<ReceiptKey, (bundle: BundleBody, run: DecidedRun) => JsonObject | undefined>> = {
  deny_receipt: ({ sections: { policy_evaluation: evaluation, mcd_finding: finding } }) =>
    evaluation && denyReceipt(evaluation, finding),
  ccv_halt_receipt: ({ sections: { efa, budget_snapshot: budget }, allow_token: token }, run) =>
    token && efa && budget && ccvHaltReceipt(run, token, efa, budget),
  macc_halt_receipt: ({ sections: { budget_snapshot: budget }, allow_token: token }, run) =>
    token && budget?.window && maccHaltReceipt(run, token, budget, budget.window),
  aivp_t4_halt_receipt: ({ sections: { governance_review: review }, allow_token: token }) =>
    token && review && aivpT4HaltReceipt(token, review),
  // Only the receipt has the policy's identity and its required fields; the rest is rebuilt.
  attestation_gap_receipt: ({ attestation_gap_receipt: gap }, run) =>
    gap && attestationGapReceipt(run, gap, gap.required_fields, gap.missing_fields),
}

/** A receipt made before anchor_required existed leaves it out, and is compared in that form. */
function asOld({ anchor_required: _, ...rest }: JsonObject): JsonObject {
  return rest
}

function checkReceipt({ bundle, known, findings }: ExaminedBundle): void {
  const found = receiptOf(bundle)
  if (found === undefined) return
  const { key, receipt } = found
  const { envelope } = bundle.sections
  const intact = sealHash(receipt, known) === receipt.hash
  findings.require("decision", intact, "the receipt does not match its hash")
  findings.fail("decision", ...receiptContradictions(receipt))
  const rebuilt = envelope && REBUILD[key](bundle, { ...bundle.sections, envelope })
  const expected = rebuilt === undefined || receipt.anchor_required === true ? rebuilt : asOld(rebuilt)
  const same = expected !== undefined && isSealOf(receipt, expected, intact)
  findings.require("decision", same, "the receipt is not the one the sections give")
  checkGapFields(bundle, findings)
}

/** The missing fields are those of the required ones that the attested context lacks. */
function checkGapFields({ attestation_gap_receipt: gap, sections }: BundleBody, findings: Findings): void {
  const context = shown(sections.attested_context)
  if (gap === undefined || context === undefined) return
  const lacking = missingAttestedFields(context.declared, gap.required_fields)
  const same = isSameJson(gap.missing_fields, lacking)
  findings.require("decision", same, "the attested context lacks other fields than the receipt says")
}
