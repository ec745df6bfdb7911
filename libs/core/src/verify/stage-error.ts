/**
 * What a stage_error tells beside the step that failed: a gate may have stopped the run before. Its receipt is lost with the
 * sealing that failed, but what the gate decided stands in the sections. docs/formats.md section 9.
 */
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import type { Gate } from "../vocabulary/outcomes.ts"
import { SEALING_STAGES } from "../vocabulary/stage-faults.ts"

type Record = Pick<BundleBody, "run" | "sections">

/** Whether the step that failed is one that a stopped run still takes. */
export const failedInSealing = ({ run }: Pick<Record, "run">): boolean =>
  SEALING_STAGES.some(stage => stage === run.error_stage)

/** The gate that had stopped a stage_error's run, as its sections tell; undefined when none had, and for any other outcome. */
export function refusingGate(record: Record): Gate | undefined {
  const { run, sections } = record
  if (run.outcome_kind !== "stage_error") return undefined
  const { transport, policy_evaluation: evaluation, budget_snapshot: budget, governance_review: review } = sections
  // A run that came to its sealing without a policy decision was not admitted.
  if (evaluation === undefined) return transport && failedInSealing(record) ? "PEPG_ADMISSION" : undefined
  if (evaluation.decision === "deny") return "PEPG"
  if (budget !== undefined && budget.declared_tokens > budget.run_limit) return "CCV"
  if (budget?.window !== undefined && budget.window.total_after >= budget.window.cap) return "MACC"
  return review === undefined || review.decision_kind === "release" ? undefined : "AIVP_T4"
}

/** What each gate had done, from the sections that tell it. */
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
