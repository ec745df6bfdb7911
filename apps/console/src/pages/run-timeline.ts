/** The nine stages and five gates of a run in their order: which it reached, what each decided, and why. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { bundleFacts, declaredOutputHash } from "@runseal/core/verify/record-facts"
import { refusingGate } from "@runseal/core/verify/stage-error"
import { GATES, KERNELS } from "@runseal/core/vocabulary/outcomes"
import { STEP_LABELS, type StepResult, type TranscriptStep, WHOLE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import { number, plural, shortHash, time } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"

type Explain = (bundle: Bundle) => Markup | string | undefined

/** What a step found, from the sections that it sealed. */
const EXPLANATIONS: Readonly<Partial<Record<TranscriptStep, Explain>>> = {
  DOG: ({ sections: { envelope, payload } }) =>
    envelope && html`Received ${time(envelope.admission_clock)}, payload of ${plural(payload.payload_bytes, "byte")}`,
  DTL: () => "Received over HTTP",
  PEPG_ADMISSION: ({ attestation_gap_receipt: gap }) =>
    gap === undefined
      ? "Every declaration that the policy requires is there"
      : html`Missing: ${gap.missing_fields.map((name, i) => html`${i > 0 ? ", " : ""}<code>${name}</code>`)}`,
  PEPG: ({ sections: { policy_evaluation: found, mcd_finding: match } }) =>
    found &&
    html`${match === undefined || found.decision_reason_code !== "MCD_SIGNATURE_MATCH" ? html`Rule <code>${found.fired_rule_id}</code>` : html`Signature <code>${found.fired_rule_id}</code> (${match.category.replaceAll("_", " ")}, ${match.severity}) matched in <code>${match.matched_in}</code>`} of policy <code>${found.policy_id}</code>: ${found.decision}`,
  DKEC: ({ sections: { efa } }) => efa && kernelsText(efa.kernels),
  CCV: ({ sections: { budget_snapshot: budget } }) =>
    budget &&
    html`${plural(budget.declared_tokens, "token")} declared, ${number(budget.run_limit)} allowed for one run`,
  MACC: ({ sections: { budget_snapshot: budget } }) =>
    budget?.window &&
    html`${number(budget.window.total_after)} of ${plural(budget.window.cap, "token")} of the window are charged or reserved`,
  AIVP_T4: ({ sections }) => reviewText(sections),
  LEDGER: ({ sections: { pote_proof: proof } }) => proof && html`Entry ${proof.log_index} of the log`,
  REGISTRY: ({ sections: { registry } }) => registry && plural(registry.artifacts.length, "artifact"),
  DLA: ({ manifest }) => manifest && html`Final seal ${shortHash(manifest.ManifestHash)}`,
}

function reviewText(sections: Bundle["sections"]): Markup | undefined {
  const { governance_review: review } = sections
  if (review === undefined) return undefined
  const unseen = declaredOutputHash(sections) === undefined ? "" : ". The output was not sent, and not reviewed"
  return html`${review.decision_kind}: <code>${review.decision_reason}</code>, by ${review.adapter_id}${review.finding_count > 0 ? html`, ${plural(review.finding_count, "finding")}: ${review.rule_ids.join(", ")}` : ""}${unseen}`
}

type Kernels = NonNullable<Bundle["sections"]["efa"]>["kernels"]

function kernelsText(kernels: Kernels): Markup {
  const found = kernels.flatMap(({ kernel, findings }) =>
    findings.map(({ code, count }) => `${kernel} ${code} ×${count}`),
  )
  return html`${KERNELS.length} kernels computed${found.length === 0 ? ", no findings" : html`; findings: ${found.join(", ")}`}`
}

const IS_GATE: ReadonlySet<TranscriptStep> = new Set(GATES)

type State = "done" | "pass" | "stop" | "failed" | "absent"

const WORDS: Readonly<Record<State, string>> = {
  done: "done",
  pass: "let it pass",
  stop: "stopped the run",
  failed: "failed",
  absent: "not reached",
}
const MARKS: Readonly<Record<State, string>> = { done: "●", pass: "✓", stop: "■", failed: "✗", absent: "○" }

const stateOf = (result: StepResult | undefined): State => {
  if (result === undefined) return "absent"
  return result === "done" || result === "pass" ? result : "stop"
}

/** How each step of a run ended. A stopped run has a receipt; its log entry is that of the receipt, not of stage LEDGER. */
function statesOf(bundle: Bundle): ReadonlyMap<TranscriptStep, State> {
  const { run, sections } = bundle
  const results = new Map(sections.transcript?.events.map(({ step, result }) => [step, result]))
  const stopped = receiptOf(bundle) === undefined ? undefined : run.error_stage
  return new Map(
    WHOLE_PATH.map(step => {
      if (run.outcome_kind === "stage_error") return [step, beforeFailure(bundle, step)]
      if (step === stopped) return [step, "stop"]
      const after = run.outcome_kind === "ok" && !results.has(step) ? "done" : stateOf(results.get(step))
      return [step, after]
    }),
  )
}

/** How far a run came that failed, which has no transcript: to the step that failed, or to the gate that had refused it. */
function beforeFailure(bundle: Bundle, step: TranscriptStep): State {
  const failed = bundle.run.error_stage
  if (step === failed) return "failed"
  const gate = refusingGate(bundle)
  if (step === gate) return "stop"
  const last = WHOLE_PATH.findIndex(each => each === (gate ?? failed))
  if (WHOLE_PATH.indexOf(step) >= last) return "absent"
  return IS_GATE.has(step) ? "pass" : "done"
}

export function timeline(bundle: Bundle): Markup {
  const states = statesOf(bundle)
  const words = bundleFacts(bundle).enforcement === undefined ? WORDS : { ...WORDS, stop: "would have stopped it" }
  const items = WHOLE_PATH.map(step => {
    const state = states.get(step) ?? "absent"
    const kind = IS_GATE.has(step) ? "gate" : "stage"
    const why = state === "absent" ? undefined : EXPLANATIONS[step]?.(bundle)
    return html`<li class="${kind} ${state}"><span class="mark" aria-hidden="true">${MARKS[state]}</span><span class="step">${STEP_LABELS[step]} <span class="code">${step}</span></span><span class="decided">${words[state]}</span>${why === undefined ? "" : html`<span class="why">${why}</span>`}${state === "failed" ? html`<span class="why">${bundle.run.error_message ?? ""}</span>` : ""}</li>`
  })
  return html`<ol class="timeline">${items}</ol>`
}
