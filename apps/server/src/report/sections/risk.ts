/** Risk assessment: what was searched for, found and declared. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { declaredOutputHash } from "@runseal/core/verify/record-facts"
import { MCD_REASON_CODE, MCD_SCOPES, type McdScope } from "@runseal/core/vocabulary/decision-codes"
import type { Block } from "@runseal/pdf/block"
import { CALLERS_WORD } from "../declared.ts"
import { count, fact, facts, mono, muted, paragraph, quote, remark, subsection, timeOr } from "../spans.ts"
import type { Part } from "../subject.ts"
import { declaredBlocks } from "./declared-content.ts"
import { rowsBeside } from "./receipt-part.ts"

export const riskAssessment: Part = subject => {
  const classification = declaredBlocks(subject.bundle, "regulatory_scaffolding")
  return [
    ...subsection("Signature scan", signatureScan(subject)),
    ...subsection("Governance review", governanceReview(subject)),
    ...subsection("Declared classification", classification.length === 0 ? [] : [CALLERS_WORD, ...classification]),
  ]
}

const SCANNED: Readonly<Record<McdScope, string>> = {
  payload: "the payload",
  ai_output: "the AI output",
  declared: "the route and the declared sections",
}

const signatureScan: Part = subject => {
  const match = signatureMatch(subject)
  if (match.length > 0) return match
  const scan = subject.bundle.sections.policy_evaluation?.signature_scan
  const { scope = [], disabled = [] } = scan ?? {}
  const left = MCD_SCOPES.filter(part => !scope.includes(part))
  return [
    paragraph(
      "Malicious Code Defense found none of its signatures in what it searched. A scan finds what its library knows; it does not show that a text is harmless.",
    ),
    ...(left.length === 0 ? [] : [paragraph(`Not searched: ${left.map(part => SCANNED[part]).join(", ")}.`)]),
    ...(disabled.length === 0 ? [] : [paragraph("Not searched for: ", mono(disabled.join(", ")), ".")]),
  ]
}

const PLACES: Readonly<Record<string, string>> = {
  payload: "the payload",
  ai_output: "the AI output",
  "/route_id": "the route",
}

/** Where a text is that matched, in words. */
export const placeOf = (matchedIn: string): string =>
  Object.hasOwn(PLACES, matchedIn) ? (PLACES[matchedIn] ?? matchedIn) : `the declared text ${matchedIn}`

/** Whether a place names a member by its position, because the member's name is not plain. */
const hasPosition = (matchedIn: string): boolean => /\/#\d/.test(matchedIn)

/** The signature of Malicious Code Defense that matched, and where; no block when none did. */
export const signatureMatch: Part = ({ bundle: { sections }, context: { signature } }) => {
  const { mcd_finding: finding } = sections
  if (finding === undefined) return []
  const rows = [
    fact("Signature", mono(finding.matched_signature_id), signature === undefined ? [] : ` ${signature.title}`),
    ...(signature === undefined ? [] : [fact("Reference", signature.reference)]),
    fact("Category", mono(finding.category)),
    fact("Severity", mono(finding.severity)),
    fact(
      "Matched in",
      placeOf(finding.matched_in),
      hasPosition(finding.matched_in) ? muted(" (#0 is the first member by name, #1 the second)") : [],
    ),
    fact("Scanned at", timeOr(finding.finding_clock)),
    fact("Text fingerprint", mono(finding.text_fingerprint)),
    fact("Library hash", mono(finding.library_hash)),
    fact("Finding hash", mono(finding.hash)),
  ]
  // Only a scan that enforces denies.
  const observed = sections.policy_evaluation?.decision_reason_code !== MCD_REASON_CODE
  return [...(observed ? [remark("The scan observes only: the match denied nothing.")] : []), ...facts(rows)]
}

/** The reviewer's name in a record whose review was switched off. */
export const SWITCHED_OFF = "none"

/** Who reviewed the AI output, and what was decided. */
export const governanceReview: Part = ({ bundle }) => {
  const { governance_review: review } = bundle.sections
  if (review === undefined) return []
  const output = review.ai_output_hash
  return [
    ...(output === undefined ? [unreviewed(bundle)] : reviewRemarks(review.adapter_id)),
    ...facts(
      rowsBeside(bundle, [
        fact("Decision", mono(review.decision_kind)),
        fact("Reason", mono(review.decision_reason)),
        fact("Reviewer", quote(review.adapter_id)),
        ...(review.model === undefined ? [] : [fact("Model", quote(review.model))]),
        ...(review.rule_ids.length === 0 ? [] : [fact("Rules", mono(review.rule_ids.join(", ")))]),
        fact("Findings", count(review.finding_count)),
        fact("Reviewed at", timeOr(review.review_clock)),
        ...(output === undefined ? [] : [fact("AI output SHA-256", mono(output))]),
        fact("Evaluator", mono(review.evaluator_version)),
        fact("Review hash", mono(review.hash)),
      ]),
    ),
  ]
}

const REVIEWER_REMARKS: Readonly<Record<string, string>> = {
  "builtin-rules": "Reviewed by built-in deterministic rules, not by a model or a person.",
  [SWITCHED_OFF]: "The review was switched off: AI output was present, and nobody reviewed it.",
}

const unreviewed = ({ sections }: Bundle): Block =>
  remark(
    declaredOutputHash(sections) === undefined
      ? "No AI output was sent: the review records a release with nothing to govern."
      : "The output was not reviewed: the caller declared its hash and did not send it. The review records a release with nothing to govern.",
  )

function reviewRemarks(adapter: string): readonly Block[] {
  const sentence = Object.hasOwn(REVIEWER_REMARKS, adapter) ? REVIEWER_REMARKS[adapter] : undefined
  return sentence === undefined ? [] : [remark(sentence)]
}
