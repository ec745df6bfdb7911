/**
 * A stage_error may hide a refusal: a gate stopped the run, and then the sealing of the refusal failed. The receipt is lost with the
 * sealing, but the sections show what the gate decided. docs/formats.md section 9.
 */
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import type { Gate } from "../vocabulary/outcomes.ts"
import { SEALING_STAGES } from "../vocabulary/stage-faults.ts"

type Record = Pick<BundleBody, "run" | "sections">

/** Whether the step that failed is one that a run takes after a gate stopped it. */
export const failedInSealing = ({ run }: Pick<Record, "run">): boolean =>
  SEALING_STAGES.some(stage => stage === run.error_stage)

/** The gate that had stopped the run of a stage_error, by its sections; undefined when none had, and for any other outcome. */
export function refusingGate(record: Record): Gate | undefined {
  const { run, sections } = record
  if (run.outcome_kind !== "stage_error") return undefined
  const { transport, policy_evaluation: evaluation, budget_snapshot: budget, governance_review: review } = sections
  // A run that was sealed without a policy decision was not admitted.
  if (evaluation === undefined) return transport && failedInSealing(record) ? "PEPG_ADMISSION" : undefined
  if (evaluation.decision === "deny") return "PEPG"
  if (budget !== undefined && budget.declared_tokens > budget.run_limit) return "CCV"
  if (budget?.window !== undefined && budget.window.total_after >= budget.window.cap) return "MACC"
  return review === undefined || review.decision_kind === "release" ? undefined : "AIVP_T4"
}

/** What each gate had done, in words. */
const REFUSALS: Readonly<{ [gate in Gate]: (sections: Record["sections"]) => string }> = {
  PEPG_ADMISSION: () => "The admission gate had refused this run (required attested fields were missing)",
  PEPG: ({ policy_evaluation: evaluation, mcd_finding: finding }) =>
    `The policy gate had denied this run (${finding === undefined ? "rule" : "signature"} ${evaluation?.fired_rule_id})`,
  CCV: ({ budget_snapshot: budget }) =>
    `The budget of one run had halted this run (${budget?.declared_tokens} tokens declared, limit ${budget?.run_limit})`,
  MACC: ({ budget_snapshot: budget }) =>
    `The tenant's cumulative budget had halted this run (window total ${budget?.window?.total_after}, cap ${budget?.window?.cap})`,
  AIVP_T4: ({ governance_review: review }) =>
    `The governance review had halted this run (${review?.decision_kind} by ${review?.adapter_id}, reason ${review?.decision_reason})`,
}

/** One sentence on a run that a gate had stopped before its sealing failed; undefined for any other record. */
export function refusalBeforeFailure(record: Record): string | undefined {
  const gate = refusingGate(record)
  if (gate === undefined) return undefined
  return `${REFUSALS[gate](record.sections)}; then stage ${record.run.error_stage ?? "unknown"} failed.`
}
