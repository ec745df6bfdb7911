/** Part 1: the Executive Summary, exactly two paragraphs: this run, then what its outcome means and where it is anchored. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { explainReceipt } from "@runseal/core/artifacts/explanation"
import { type RecordFinding, recordFindings } from "@runseal/core/artifacts/record-findings"
import { declaredOutputHash } from "@runseal/core/verify/record-facts"
import { keyText } from "@runseal/core/verify/run-account"
import { refusalBeforeFailure } from "@runseal/core/verify/stage-error"
import { MCD_REASON_CODE } from "@runseal/core/vocabulary/decision-codes"
import { OUTCOMES, withMark } from "@runseal/core/vocabulary/outcomes"
import { STEP_LABELS } from "@runseal/core/vocabulary/pipeline-path"
import type { Line } from "@runseal/pdf/block"
import { count, countOf, heading, line, mono, paragraph, quote, readableTime, shortQuote } from "../spans.ts"
import { type Part, wordsOf } from "../subject.ts"
import { anchorSentence } from "./anchors.ts"
import { actFailed, permitSentence } from "./permit-part.ts"
import { placeOf, SWITCHED_OFF } from "./risk.ts"

export const executiveSummary: Part = subject => {
  const { bundle } = subject
  return [
    heading(1, "Executive Summary"),
    paragraph(opener(bundle)),
    paragraph(isSealedFailure(bundle) ? FAILED_ACT : "", `${wordsOf(subject).framing} `, anchorSentence(bundle)),
  ]
}

const isSealedFailure = (bundle: Bundle): boolean => bundle.run.outcome_kind === "ok" && actFailed(bundle)
const FAILED_ACT = "The act failed; what passed is the service's part, from the decision to the seal. "

function opener(bundle: Bundle): Line {
  const { run, sections } = bundle
  // A run that closed a permit was made at its close.
  const admitted = sections.envelope?.admission_clock ?? run.created_at
  const requested = line(
    `Run ${run.run_id} was requested by the tenant `,
    shortQuote(keyText(bundle)),
    ` on the route `,
    shortQuote(run.route_id),
    ` on ${readableTime(admitted)} (${admitted}), in the region `,
    shortQuote(run.execution_region),
    ". ",
    permitSentence(bundle),
  )
  const payload = `Its payload of ${countOf(sections.payload.payload_bytes, "byte")} is recorded only as a hash. `
  return line(
    requested,
    payload,
    `${withMark(OUTCOMES[run.outcome_kind].sentence, sections.envelope)} `,
    because(bundle),
    findings(bundle),
  )
}

/** The findings of the record, which stop no run. */
function findings({ sections }: Bundle): Line {
  const found = recordFindings(sections)
  if (found.length === 0) return []
  const total = found.reduce((sum, { count: times }) => sum + times, 0)
  const { mcd_finding: match } = sections
  const observed = found.some(({ code }) => code === "SIGNATURE_MATCH_OBSERVED") ? match : undefined
  return line(
    ` The record has ${countOf(total, "finding")}, which ${total === 1 ? "stops" : "stop"} no run: `,
    mono(found.map(codeOf).join(", ")),
    observed === undefined
      ? "."
      : line(". ", mono(observed.matched_signature_id), ` matched in ${placeOf(observed.matched_in)}.`),
  )
}

const codeOf = ({ code, count: times }: RecordFinding): string => (times === 1 ? code : `${code} ×${count(times)}`)

/** What decided the outcome, from the sealed decision. */
function because(bundle: Bundle): Line {
  const { run, sections, manifest } = bundle
  if (run.outcome_kind === "stage_error") return failed(bundle)
  const reasons = REASONS.flatMap(reason => reason(bundle) ?? [])
  if (reasons.length > 0) return reasons
  const { policy_evaluation: evaluation, budget_snapshot: budget, governance_review: review } = sections
  if (manifest === undefined || evaluation === undefined || budget === undefined || review === undefined) return []
  return line(
    "The rule ",
    mono(evaluation.fired_rule_id),
    ` admitted it; the budgets counted ${countOf(budget.declared_tokens, "declared token")}, ${withinLimits(budget)}; the governance review ${released(bundle, review)} (`,
    mono(review.decision_reason),
    ").",
  )
}

/** A close within its reservation passes whatever the window holds. */
const withinLimits = ({ window }: NonNullable<Bundle["sections"]["budget_snapshot"]>): string =>
  window?.reserved !== undefined && window.tokens <= window.reserved ? "within its reservation" : "within both limits"

/** What the governance review came to of a run that passed. */
function released(
  { sections }: Bundle,
  { adapter_id, ai_output_hash }: NonNullable<Bundle["sections"]["governance_review"]>,
): string {
  const declared = declaredOutputHash(sections) === undefined ? "" : ", of which the caller declared the hash alone,"
  if (ai_output_hash === undefined) return `had no AI output to review${declared} and recorded a release`
  return adapter_id === SWITCHED_OFF ? "was switched off and recorded a release" : "recorded a release"
}

function failed(bundle: Bundle): Line {
  const stage = bundle.run.error_stage
  const refusal = refusalBeforeFailure(bundle)
  if (refusal !== undefined) return quote(refusal)
  return stage === undefined ? [] : line("The step that failed is ", mono(stage), ` (${STEP_LABELS[stage]}).`)
}

/** What of the act was not as its table says, where that refused the run. */
const unreadableNames = (names: readonly string[] | undefined): string =>
  names === undefined || names.length === 0 ? "." : `: not as the act table says: ${names.join(", ")}.`

/** What each receipt gives as its reason; a bundle holds one receipt at most. */
const REASONS: readonly ((bundle: Bundle) => Line | undefined)[] = [
  ({ deny_receipt: receipt, sections }) =>
    receipt &&
    line(
      "The reason is ",
      mono(receipt.decision_reason_code),
      ", by ",
      mono(receipt.fired_rule_id),
      sections.mcd_finding === undefined || receipt.decision_reason_code !== MCD_REASON_CODE
        ? unreadableNames(explainReceipt(receipt, sections).missing)
        : `: the signature matched in ${placeOf(sections.mcd_finding.matched_in)}.`,
    ),
  ({ ccv_halt_receipt: receipt }) =>
    receipt &&
    line(
      `It declared ${countOf(receipt.consumed_at_halt, "token")}; the limit of one run is ${count(receipt.budget_limit)}.`,
    ),
  ({ macc_halt_receipt: receipt }) =>
    receipt &&
    line(
      `With its ${countOf(receipt.per_run_consumption, "token")} the window that began on ${readableTime(receipt.window_start)} holds ${count(receipt.cumulative_at_halt)}; the cap is ${count(receipt.budget_limit)}.`,
    ),
  ({ aivp_t4_halt_receipt: receipt }) =>
    receipt &&
    line(
      "The reviewer ",
      mono(receipt.adapter_id),
      " decided ",
      mono(receipt.decision_kind),
      " with the reason ",
      mono(receipt.decision_reason),
      ".",
    ),
  ({ attestation_gap_receipt: receipt }) =>
    receipt &&
    line(
      `Of ${countOf(receipt.required_fields.length, "required field")} ${receipt.missing_fields.length === 1 ? "1 is" : `${count(receipt.missing_fields.length)} are`} missing.`,
    ),
]
