/** The budget snapshot of a record against the rest of it: what was counted, what moved in the window, and what the gates make of it. */
import type { JsonValue } from "@runseal/canonical"
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import type { BudgetSnapshotSection, BudgetWindow, EnvelopeSection } from "../artifacts/sealed-sections.ts"
import { declaredView } from "../derivation/v2/declared-view.ts"
import { isCloseRecord } from "../derivation/v2/transcript.ts"
import { windowStart } from "../formulas/decision.ts"
import { chargeId } from "../formulas/moment.ts"
import { member } from "../vocabulary/json-members.ts"
import { clockMillis } from "../vocabulary/scalars.ts"
import { brokenRules, type Rule } from "./contradictions.ts"
import type { ExaminedBundle } from "./examination.ts"
import { exceedsReservation, refusingGate } from "./stage-error.ts"

/** What became of a run at its budgets, as the rest of the record says. */
type Budgeted = Pick<BundleBody, "run" | "sections"> & {
  readonly budget: BudgetSnapshotSection
  readonly envelope: EnvelopeSection
}

/** Checks the budget snapshot of a record. docs/formats.md section 3.9. */
export function checkBudget({ bundle: { run, sections }, findings }: ExaminedBundle): void {
  const { budget_snapshot: budget, envelope } = sections
  if (budget === undefined || envelope === undefined) return
  const run_budget = { run, sections, budget, envelope }
  const rules = isCloseRecord(sections)
    ? closeRules(run_budget)
    : budget.purpose === undefined
      ? chargeRules(run_budget)
      : reservationRules(run_budget)
  const own = budget.envelope_id === envelope.envelope_id && budget.tenant_id === envelope.tenant_id
  findings.fail(
    "decision",
    ...brokenRules([
      [own, "the budget snapshot speaks of another run"],
      ...rules,
      ...(budget.window === undefined ? [] : [movementRule(budget.window, budget.declared_tokens, envelope)]),
    ]),
  )
}

/** A run that was not permitted before: its declared tokens are charged, once CCV lets it pass. */
function chargeRules({ run: { outcome_kind: outcome }, sections, budget }: Budgeted): readonly Rule[] {
  const { window, declared_tokens, run_limit } = budget
  const over = declared_tokens > run_limit
  const isKnown = outcome !== "stage_error"
  return [
    [isDeclared(sections, declared_tokens), "the budget counts other tokens than declared"],
    [over === (window === undefined), "there is a charge exactly when CCV passed"],
    [!isKnown || over === (outcome === "ccv_halt"), "the per-run budget decides otherwise"],
    [
      window === undefined || (window.ordinal !== undefined && window.reserved === undefined),
      "a charge is one movement of its window",
    ],
    [
      window === undefined || !isKnown || window.total_after >= window.cap === (outcome === "macc_halt"),
      "the window's cap decides otherwise",
    ],
  ]
}

/** An opening that a budget refused: nothing moved, and the window's total is the one that there would have been. */
function reservationRules({ run, sections, budget }: Budgeted): readonly Rule[] {
  const { window, declared_tokens, run_limit } = budget
  const over = declared_tokens > run_limit
  const gate = run.outcome_kind === "stage_error" ? refusingGate({ run, sections }) : run.error_stage
  return [
    [gate === (over ? "CCV" : "MACC"), "an opening has a budget snapshot exactly when a budget refused it"],
    [over === (window === undefined), "the per-run budget decides otherwise"],
    [
      window === undefined || (window.ordinal === undefined && window.reserved === undefined),
      "a refused reservation moves nothing",
    ],
    [window === undefined || window.total_after >= window.cap, "the window's cap decides otherwise"],
    [
      sections.payload.ai_output_hash === undefined && costOf(sections) === undefined,
      "before an act there is neither AI output nor a cost",
    ],
  ]
}

/** Gates that a close may not have reached: there its budget decides nothing. */
const BEFORE_BUDGETS: readonly string[] = ["pepg_deny", "stage_error"]

/** A close settles its reservation whichever gate stops it. Within the reservation MACC always passes. */
function closeRules({ run: { outcome_kind: outcome }, sections, budget }: Budgeted): readonly Rule[] {
  const { window, declared_tokens, run_limit, purpose } = budget
  const over = declared_tokens > run_limit
  const decides = !BEFORE_BUDGETS.includes(outcome)
  const rules: readonly Rule[] = [
    [purpose === undefined, "a close reserves nothing"],
    [isDeclared(sections, declared_tokens), "the budget counts other tokens than declared"],
    [window !== undefined, "a close settles its reservation, and this one has no window"],
    [!decides || over === (outcome === "ccv_halt"), "the per-run budget decides otherwise"],
  ]
  if (window === undefined) return rules
  const { reserved, ordinal = 0, tokens } = window
  const exceeds = exceedsReservation(window)
  // The reservation is a movement before these.
  const movements = tokens > (reserved ?? tokens) ? 3 : 2
  return [
    ...rules,
    [reserved !== undefined && ordinal >= movements, "a close settles what its opening reserved in this window"],
    [!decides || outcome === "ccv_halt" || exceeds === (outcome === "macc_halt"), "the window's cap decides otherwise"],
  ]
}

/** Whether these are the declared tokens; a withheld section shows none, and the snapshot is believed. */
function isDeclared(sections: BundleBody["sections"], tokens: number): boolean {
  const isShown = declaredView(sections, "request_substance") !== undefined
  return !isShown || (member(costOf(sections), "total_tokens") ?? 0) === tokens
}

const costOf = (sections: BundleBody["sections"]): JsonValue | undefined =>
  member(declaredView(sections, "request_substance")?.declared, "cost")

/** A movement is of the run's tokens, in the window of its admission, under the number of its envelope. */
export function movementRule(window: BudgetWindow, tokens: number, envelope: EnvelopeSection): Rule {
  const { charge_id, total_after, ordinal, window_seconds, window_start } = window
  const start = windowStart(clockMillis(envelope.admission_clock) ?? Number.NaN, window_seconds)
  const holds =
    charge_id === chargeId(envelope.hash) &&
    window.tokens === tokens &&
    total_after >= tokens &&
    (ordinal !== 1 || total_after === tokens) &&
    clockMillis(window_start) === start
  return [holds, "the charge is not this run's, or not of its window"]
}

/** Whether budgets have such a window: it begins at a multiple of its length since the epoch. */
export function isBudgetWindow({
  window_seconds,
  window_start,
}: Pick<BudgetWindow, "window_seconds" | "window_start">): boolean {
  const start = clockMillis(window_start) ?? Number.NaN
  return windowStart(start, window_seconds) === start
}
