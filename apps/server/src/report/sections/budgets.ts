/** Runtime budget state, tenant budget snapshot and at-execution tenant state. */
import { isShown } from "@runseal/core/artifacts/declared-sections"
import type { BudgetSnapshotSection, BudgetWindow } from "@runseal/core/artifacts/sections"
import { ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import type { GaugeBlock } from "@runseal/pdf/block"
import { count, countOf, fact, facts, heading, mono, muted, quote, remark } from "../spans.ts"
import type { Part } from "../subject.ts"

const NO_BUDGET = remark("The run holds no budget snapshot: it ended before its budgets were counted.")
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
  const title = heading(2, "Runtime Budget State")
  if (budget === undefined) return [title, NO_BUDGET]
  const left = budget.run_limit - budget.declared_tokens
  return [
    title,
    remark(
      "Counted on the tokens that the caller declared in request_substance.cost.total_tokens; none declared counts as 0.",
    ),
    runGauge(budget),
    ...facts([
      fact("Declared", tokens(budget.declared_tokens)),
      fact("Limit of one run", tokens(budget.run_limit)),
      fact(left < 0 ? "Over the limit by" : "Left", tokens(Math.abs(left))),
      fact("Budget hash", mono(budget.hash)),
    ]),
  ]
}

export const tenantBudget: Part = ({ bundle }) => {
  const { budget_snapshot: budget } = bundle.sections
  const title = heading(2, "Tenant Budget Snapshot")
  if (budget === undefined) return [title, NO_BUDGET]
  const { window } = budget
  if (window === undefined)
    return [title, remark("The tenant's window was not charged: the budget of one run had halted the run before.")]
  return [
    title,
    remark(
      "Charged by the service. A verifier checks the arithmetic and the rule; what was charged before is the operator's word.",
    ),
    windowGauge(window),
    ...facts([
      fact("Window begins", window.window_start),
      fact("Window length", countOf(window.window_seconds, "second")),
      fact("Charged before", tokens(window.total_after - window.tokens)),
      fact("Charged for this run", tokens(window.tokens)),
      fact("Charged after", tokens(window.total_after)),
      fact("Cap of the window", tokens(window.cap)),
      fact("Charge", mono(window.charge_id)),
    ]),
  ]
}

export const tenantState: Part = ({ bundle }) => {
  const { run, sections, anchors } = bundle
  const place = anchors.complete_record?.leaf
  const substance = sections.request_substance
  const origin = isShown(substance) ? substance.origin : undefined
  const first = place?.previous_record === ZERO_HASH
  return [
    heading(2, "At-Execution Tenant State"),
    ...facts([
      fact("Tenant", quote(run.tenant_id)),
      fact("Authentication", origin === undefined ? muted("withheld") : mono(origin.authentication.method)),
      fact("Region", quote(run.execution_region)),
      ...(place === undefined
        ? [fact("Record of the tenant", muted("no place in the tenant's chain: there is no complete-record anchor"))]
        : [
            fact("Record of the tenant", `number ${count(place.tenant_ordinal)} in the tenant's chain`),
            fact("Record before", mono(place.previous_record), first ? muted(" (none: this is the first)") : []),
            fact("Tenant commitment", mono(place.tenant_commitment)),
          ]),
      fact("Tenant salt", mono(run.tenant_salt)),
    ]),
  ]
}
