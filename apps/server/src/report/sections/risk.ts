/** Risk assessment: what was searched for, found and declared. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
import type { FindingCode } from "@runseal/core/vocabulary/kernel-findings"
import type { Block } from "@runseal/pdf/block"
import { declaredIn, declaredOpening, valueTable, without } from "../declared.ts"
import { count, fact, facts, heading, line, mono, muted, paragraph, quote, remark, table } from "../spans.ts"
import type { Part } from "../subject.ts"

export const riskAssessment: Part = ({ bundle }) => [
  heading(2, "Risk Assessment"),
  heading(3, "Signature scan"),
  ...signatureScan(bundle),
  heading(3, "Governance review"),
  ...governanceReview(bundle),
  heading(3, "Kernel findings"),
  ...kernelFindings(bundle),
  heading(3, "Declared classification"),
  ...classification(bundle),
]

/** The finding of Malicious Code Defense, or that there is none. */
function signatureScan({
  sections: { mcd_finding: finding, policy_evaluation: evaluation },
}: Bundle): readonly Block[] {
  if (evaluation === undefined) return [remark("The record holds no signature scan.")]
  if (finding === undefined)
    return [
      paragraph(
        "No signature of Malicious Code Defense matched. A scan finds what its library knows; it does not show that a text is harmless.",
      ),
    ]
  return facts([
    fact("Signature", mono(finding.matched_signature_id)),
    fact("Category", mono(finding.category)),
    fact("Severity", mono(finding.severity)),
    fact("Found at", finding.finding_clock),
    fact("Payload fingerprint", mono(finding.payload_fingerprint)),
    fact("Library hash", mono(finding.library_hash)),
    fact("Finding hash", mono(finding.hash)),
  ])
}

/** Who reviewed the AI output, and what was decided. */
function governanceReview({ sections: { governance_review: review } }: Bundle): readonly Block[] {
  if (review === undefined) return [remark("The record holds no governance review.")]
  return [
    ...reviewRemarks(review.adapter_id, review.ai_output_hash !== undefined),
    ...facts([
      fact("Decision", mono(review.decision_kind)),
      fact("Reason", mono(review.decision_reason)),
      fact("Reviewer", quote(review.adapter_id)),
      ...(review.model === undefined ? [] : [fact("Model", quote(review.model))]),
      fact("Rules", review.rule_ids.length === 0 ? muted("none") : mono(review.rule_ids.join(", "))),
      fact("Findings", count(review.finding_count)),
      fact("AI output SHA-256", review.ai_output_hash === undefined ? muted("none") : mono(review.ai_output_hash)),
      fact("Evaluator", mono(review.evaluator_version)),
      fact("Review hash", mono(review.hash)),
    ]),
  ]
}

const REVIEWER_REMARKS: Readonly<Record<string, string>> = {
  "builtin-rules": "Reviewed by built-in deterministic rules, not by a model or a person.",
  none: "The review was switched off: AI output was present, and nobody reviewed it.",
}

function reviewRemarks(adapter: string, output: boolean): readonly Block[] {
  if (!output) return [remark("No AI output was sent: the review records a release with nothing to govern.")]
  const sentence = Object.hasOwn(REVIEWER_REMARKS, adapter) ? REVIEWER_REMARKS[adapter] : undefined
  return sentence === undefined ? [] : [remark(sentence)]
}

/** What each finding means; docs/pipeline.md explains them at length. */
const MEANINGS: Readonly<Record<FindingCode, string>> = {
  PAYLOAD_EMPTY: "the payload has no bytes",
  TIMESTAMP_UNPARSABLE: "a declared time is no RFC 3339 date-time",
  TIMESTAMP_OUT_OF_ORDER: "a declared effect was issued before the one listed before it",
  TIMESTAMP_AFTER_ADMISSION: "a declared time is later than the admission of the run",
  APPROVERS_OUT_OF_SEQUENCE: "an approver approved before the one before, by the declared order",
  ACTOR_SIGNATURE_NOT_VERIFIED: "an actor's signature was declared, and nobody verified it",
  PROMPT_HASH_MISMATCH: "two declared prompt hashes differ",
  AI_OUTPUT_HASH_MISMATCH: "the declared output hash is not that of the AI output",
  AI_OUTPUT_HASH_UNCHECKED: "an output hash was declared, and no AI output was sent to check it",
  COST_WITHOUT_TOTAL: "a cost was declared without total_tokens, and the budgets counted zero",
  COST_PARTS_EXCEED_TOTAL: "declared input and output tokens exceed the declared total, which the budgets counted",
  COST_DOES_NOT_ADD_UP: "declared input and output tokens are fewer than the declared total",
}

function kernelFindings({ sections: { efa } }: Bundle): readonly Block[] {
  if (efa === undefined) return [remark("No kernel ran.")]
  const rows = efa.kernels.flatMap(({ kernel, findings }) =>
    findings.map(found => [
      line(mono(kernel)),
      line(mono(found.code)),
      line(count(found.count)),
      line(MEANINGS[found.code]),
    ]),
  )
  const opening = remark(
    "Findings never stop a run. They say where declared content contradicts itself or was not checked.",
  )
  if (rows.length === 0) return [opening, paragraph("The six kernels found nothing.")]
  const columns = [
    { title: "Kernel", share: 9 },
    { title: "Finding", share: 35 },
    { title: "Count", share: 9, align: "end" as const },
    { title: "Meaning", share: 47 },
  ]
  return [opening, ...table("Kernel findings", columns, rows)]
}

/** Categories and labels, a label a row, then whatever else the section declares. */
function classification(bundle: Bundle): readonly Block[] {
  const declared = declaredIn(bundle, "regulatory_scaffolding")
  const classes = member(declared, "data_classification")
  const opening = declaredOpening(bundle, "regulatory_scaffolding")
  if (declared === undefined) return opening
  const known = isObject(classes)
  return [
    ...opening,
    ...(known ? valueTable("Data classification", classes) : []),
    ...valueTable("Further regulatory values", without(declared, known ? ["data_classification"] : [])),
  ]
}
