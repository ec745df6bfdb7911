/** Decision, outcome summary and policy evaluation: what the gates decided, and on what. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { refusingGate } from "@runseal/core/verify/stage-error"
import { GATES, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import { STEP_LABELS, type TranscriptStep, WHOLE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import type { Line, Span, TimelineBlock } from "@runseal/pdf/block"
import { CALLERS_WORD } from "../declared.ts"
import {
  count,
  countOf,
  type Fact,
  fact,
  facts,
  line,
  mono,
  quote,
  remark,
  subsection,
  table,
  timeOr,
} from "../spans.ts"
import { isObserved, type Part } from "../subject.ts"
import { attestedFacts, DECISION_FIELDS } from "./declared-content.ts"
import { rowsBeside } from "./receipt-part.ts"

const DECIDED =
  "Decided by the service. A verifier checks that evaluation, token and receipt agree. Who has the policy makes the decision again: verifier --decided-by."

/** What the policy gate decided, and the decision that the caller declared. */
export const decision: Part = ({ bundle }) => {
  const { allow_token: token, sections } = bundle
  const { policy_evaluation: evaluation } = sections
  const declared = facts(attestedFacts(bundle, DECISION_FIELDS))
  return [
    ...(evaluation === undefined
      ? []
      : facts([
          fact("Policy gate", mono(evaluation.decision)),
          fact("Fired rule", mono(evaluation.fired_rule_id)),
          fact("Reason code", mono(evaluation.decision_reason_code)),
          fact("Decided at", timeOr(evaluation.evaluation_clock)),
          ...(token === undefined ? [] : [fact("Allow token hash", mono(token.hash))]),
        ])),
    ...subsection("Declared decision", declared.length === 0 ? [] : [CALLERS_WORD, ...declared]),
  ]
}

/** What each gate decided on; undefined where the record holds nothing of it, because the gate failed. */
const GATE_REASONS: Readonly<Partial<Record<TranscriptStep, (bundle: Bundle) => Line | undefined>>> = {
  PEPG_ADMISSION: bundle => {
    const { attestation_gap_receipt: gap } = bundle
    if (gap !== undefined) return line(`missing fields: ${gap.missing_fields.join(", ")}`)
    const lost = refusingGate(bundle) === "PEPG_ADMISSION"
    return line(lost ? "required attested fields were missing" : "no required attested field is missing")
  },
  PEPG: ({ sections: { policy_evaluation: evaluation } }) =>
    evaluation && line(mono(evaluation.decision_reason_code), " by ", mono(evaluation.fired_rule_id)),
  CCV: ({ sections: { budget_snapshot: budget } }) =>
    budget && line(`${countOf(budget.declared_tokens, "token")} declared; limit ${count(budget.run_limit)}`),
  MACC: ({ sections: { budget_snapshot: budget } }) =>
    budget?.window &&
    line(`window total ${count(budget.window.total_after)} with this run; cap ${count(budget.window.cap)}`),
  AIVP_T4: ({ sections: { governance_review: review } }) =>
    review &&
    line(mono(review.decision_kind), " by ", mono(review.adapter_id), ", reason ", mono(review.decision_reason)),
}

const GATE_RESULTS = { passed: "passed", stopped: "ended the run", not_reached: "not reached" } as const

/** A gate that ended the run decided so; in a stage error it failed, unless it had refused the run before a stage failed. */
const gateResult = (state: keyof typeof GATE_RESULTS, bundle: Bundle): Span => {
  if (state !== "stopped") return { text: GATE_RESULTS[state] }
  const diagnosis = OUTCOMES[bundle.run.outcome_kind].words.standing === "diagnosis"
  const failed = diagnosis && refusingGate(bundle) === undefined
  const stopped = isObserved({ bundle }) ? "would have stopped it" : GATE_RESULTS.stopped
  return { text: failed ? "failed" : stopped, style: "bold", tone: "bad" }
}

const GATE_COLUMNS = [
  { title: "Gate", share: 21 },
  { title: "Name", share: 21 },
  { title: "Result", share: 15 },
  { title: "On what", share: 43 },
]

/** How far the run came, and what each gate decided that it reached. */
export const course: Part = ({ bundle }) => {
  const gates = stepStates(bundle).filter(({ kind }) => kind === "gate")
  const reached = gates.filter(({ state }) => state !== "not_reached")
  const others = gates.filter(gate => !reached.includes(gate)).map(({ code, label }) => `${code} (${label})`)
  const rows = reached.map(({ code, label, state }) => [
    line(mono(code)),
    line(label),
    line(gateResult(state, bundle)),
    GATE_REASONS[code]?.(bundle) ?? quote(bundle.run.error_message ?? "–"),
  ])
  return [
    timeline(bundle),
    ...(rows.length === 0 ? [] : table("Gates", GATE_COLUMNS, rows)),
    ...(others.length === 0 ? [] : [remark(`Not reached: ${others.join(", ")}.`)]),
  ]
}

export const policyEvaluation: Part = ({ bundle }) => {
  const { policy_evaluation: evaluation } = bundle.sections
  if (evaluation === undefined) return []
  return [
    remark(DECIDED),
    ...facts([
      // No receipt has these. Their names may be those of what it has: an operator chooses them.
      fact("Policy", quote(evaluation.policy_name)),
      fact("Policy ID", quote(evaluation.policy_id)),
      ...(evaluation.profile_tag === undefined ? [] : [fact("Profile tag", quote(evaluation.profile_tag))]),
      fact("Matched rules", mono(evaluation.matched_rule_ids.join(", ") || "none")),
      ...rowsBeside(bundle, evaluationRows(evaluation)),
    ]),
  ]
}

type Evaluation = NonNullable<Bundle["sections"]["policy_evaluation"]>
const evaluationRows = (evaluation: Evaluation): readonly Fact[] => [
  fact("Policy hash", mono(evaluation.policy_hash)),
  fact("Decision", mono(evaluation.decision)),
  fact("Reason code", mono(evaluation.decision_reason_code)),
  fact("Fired rule", mono(evaluation.fired_rule_id)),
  fact("Signature library hash", mono(evaluation.signature_library_hash)),
  fact("Signature scan", mono(evaluation.signature_scan.mode)),
  fact("Scanned", mono(evaluation.signature_scan.scope.join(", "))),
  fact("Signatures left out", mono(evaluation.signature_scan.disabled.join(", ") || "none")),
  fact("Evaluated at", timeOr(evaluation.evaluation_clock)),
  fact("Evaluator", mono(evaluation.evaluator_version)),
  fact("Evaluation hash", mono(evaluation.hash)),
]

// The nine stages and five gates, and where the run stopped.

/** The step that ended the run; undefined for a completed one. */
const stoppedAt = ({ run }: Pick<Bundle, "run">): TranscriptStep | undefined => {
  const stage = run.error_stage ?? OUTCOMES[run.outcome_kind].error_stage
  return stage === "" ? undefined : stage
}

type Step = TimelineBlock["steps"][number] & { readonly code: TranscriptStep }

type TimedBundle = Pick<Bundle, "run" | "sections">

/** How far the run came. */
function stepStates(bundle: TimedBundle): readonly Step[] {
  const stop = stoppedAt(bundle)
  // A refused run whose sealing failed went no further than its gate, and then to that one stage.
  const gate = refusingGate(bundle)
  const last = gate ?? stop
  const end = last === undefined ? WHOLE_PATH.length : WHOLE_PATH.indexOf(last)
  const state = (i: number): Step["state"] => {
    if (i < end) return "passed"
    return i === end || WHOLE_PATH[i] === stop ? "stopped" : "not_reached"
  }
  return WHOLE_PATH.map((code, i) => ({
    kind: GATES.some(gate => gate === code) ? "gate" : "stage",
    code,
    label: STEP_LABELS[code],
    state: state(i),
  }))
}

/** The drawing, and the same in one sentence. */
function timeline(bundle: TimedBundle): TimelineBlock {
  const steps = stepStates(bundle)
  const stops = steps.filter(({ state }) => state === "stopped").map(({ code, label }) => `${code} (${label})`)
  const passed = steps.filter(({ state }) => state === "passed").length
  const left = steps.length - passed - stops.length
  const alternative =
    stops.length === 0
      ? `All ${steps.length} steps were passed: nine stages and five gates.`
      : `${passed} of ${steps.length} steps ${passed === 1 ? "was" : "were"} passed; the run ended at ${stops.join(" and then failed at ")}; ${left === 1 ? "1 step was" : `${left} steps were`} not reached.`
  return { kind: "timeline", steps, alternative }
}
