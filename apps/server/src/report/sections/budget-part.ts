/** Runtime budget state, tenant budget snapshot and at-execution tenant state. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { isShown } from "@runseal/core/artifacts/declared-sections"
import type { BudgetSnapshotSection, BudgetWindow } from "@runseal/core/artifacts/sealed-sections"
import { keyText } from "@runseal/core/verify/run-account"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { GaugeBlock } from "@runseal/pdf/block"
import { count, countOf, type Fact, fact, facts, mono, muted, quote, remark, timeOr } from "../spans.ts"
import type { Part } from "../subject.ts"

const tokens = (value: number): string => countOf(value, "token")

const runGauge = ({ declared_tokens, run_limit }: BudgetSnapshotSection): GaugeBlock => ({
  kind: "gauge",
  label: "Budget of this run",
  before: 0,
  used: declared_tokens,
  limit: run_limit,
  unit: "tokens",
  tone: declared_tokens > run_limit ? "bad" : "good",
})

const windowGauge = ({ cap, tokens: used, total_after }: BudgetWindow): GaugeBlock => ({
  kind: "gauge",
  label: "Budget of the tenant's window",
  before: total_after - used,
  used,
  limit: cap,
  unit: "tokens",
  tone: total_after >= cap ? "bad" : "good",
})

/** The budgets as drawings; nothing when the record holds none. */
export const gauges: Part = ({ bundle: { sections } }) => {
  const { budget_snapshot: budget } = sections
  if (budget === undefined) return []
  return budget.window === undefined ? [runGauge(budget)] : [runGauge(budget), windowGauge(budget.window)]
}

export const runtimeBudget: Part = ({ bundle }) => {
  const { budget_snapshot: budget } = bundle.sections
  if (budget === undefined) return []
  const left = budget.run_limit - budget.declared_tokens
  return [
    remark(
      budget.purpose === undefined
        ? "Counted on the tokens that the caller declared in request_substance.cost.total_tokens; none declared counts as 0."
        : "Counted on the tokens that the caller asked to reserve.",
    ),
    runGauge(budget),
    ...facts([
      fact(left < 0 ? "Over the limit by" : "Left", tokens(Math.abs(left))),
      fact("Budget hash", mono(budget.hash)),
    ]),
  ]
}

const CHARGED =
  "Charged by the service. A verifier checks the arithmetic and the rule; what was charged before is the operator's word."
const NOT_RESERVED =
  "Nothing was charged: with these tokens the window would have reached its cap. A verifier checks the arithmetic and the rule."

export const tenantBudget: Part = ({ bundle }) => {
  const { budget_snapshot: budget } = bundle.sections
  if (budget === undefined) return []
  const { window } = budget
  if (window === undefined)
    return [remark("The tenant's window was not charged: the budget of one run had halted the run before.")]
  return [
    remark(budget.purpose === undefined ? CHARGED : NOT_RESERVED),
    windowGauge(window),
    ...facts([
      fact("Window begins", timeOr(window.window_start)),
      fact("Window length", countOf(window.window_seconds, "second")),
      fact(
        window.reserved === undefined ? "Charged before" : "Charged and reserved by others",
        tokens(window.total_after - window.tokens),
      ),
      ...movedFacts(window, budget.purpose),
      fact("Charge", mono(window.charge_id)),
    ]),
  ]
}

/** What the run moved in its window. */
function movedFacts(
  { tokens: used, reserved, ordinal }: BudgetWindow,
  purpose: BudgetSnapshotSection["purpose"],
): readonly Fact[] {
  const place = ordinal === undefined ? [] : [fact("Movement of the window", `number ${count(ordinal)}`)]
  if (purpose !== undefined) return [fact("Not reserved", tokens(used))]
  if (reserved === undefined) return [fact("Charged for this run", tokens(used)), ...place]
  return [fact("Reserved for this run", tokens(reserved)), fact("Used by this run", tokens(used)), ...place]
}

/** Both budgets of a run that was not completed. */
export const budgets: Part = subject => [...runtimeBudget(subject), ...tenantBudget(subject)]

/** The record's place among those of its tenant. */
export function tenantFacts({ run, anchors }: Pick<Bundle, "run" | "anchors">): readonly Fact[] {
  const place = anchors.complete_record?.leaf
  const first = place?.previous_record === ZERO_HASH
  return [
    ...(place === undefined
      ? []
      : [
          fact("Record of the tenant", `number ${count(place.tenant_ordinal)} in the tenant's chain`),
          fact("Record before", first ? muted("none: this is the first") : mono(place.previous_record)),
          fact("Tenant commitment", mono(place.tenant_commitment)),
        ]),
    fact("Tenant salt", mono(run.tenant_salt)),
  ]
}

export const tenantState: Part = ({ bundle }) => {
  const { run, sections } = bundle
  const substance = sections.request_substance
  const origin = isShown(substance) ? substance.origin : undefined
  return facts([
    fact("Tenant", quote(keyText(bundle))),
    fact("Authentication", origin === undefined ? muted("withheld") : mono(origin.authentication.method)),
    fact("Region", quote(run.execution_region)),
    ...tenantFacts(bundle),
  ])
}
