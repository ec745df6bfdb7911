/**
 * A stage_error may hide a refusal: a gate stopped the run, and then the sealing of the refusal failed. The receipt is lost with the
 * sealing, but the sections show what the gate decided. docs/formats.md section 9.
 */
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import type { BudgetWindow } from "../artifacts/sealed-sections.ts"
import { isCloseRecord } from "../derivation/v2/transcript.ts"
import type { Gate } from "../vocabulary/outcomes.ts"
import { WHOLE_PATH } from "../vocabulary/pipeline-path.ts"
import { SEALING_STAGES } from "../vocabulary/stage-faults.ts"

type Record = Pick<BundleBody, "run" | "sections">

/** Whether the step that failed is one that a run takes after a gate stopped it. */
export const failedInSealing = ({ run }: Pick<Record, "run">): boolean =>
  SEALING_STAGES.some(stage => stage === run.error_stage)

/** Whether a step comes after a gate. A close has its budget also where no gate was asked for it. */
const isBehind = (failed: string | undefined, gate: Gate): boolean =>
  WHOLE_PATH.some((step, at) => step === failed && at > WHOLE_PATH.indexOf(gate))

/** The gate that had stopped the run of a stage_error, by its sections; undefined when none had, and for any other outcome. */
export function refusingGate(record: Record): Gate | undefined {
  const { run, sections } = record
  if (run.outcome_kind !== "stage_error") return undefined
  const { transport, policy_evaluation: evaluation, budget_snapshot: budget, governance_review: review } = sections
  const isClose = isCloseRecord(sections)
  // A run that was sealed without a policy decision was not admitted; one whose permit was opened was.
  if (evaluation === undefined) return transport && failedInSealing(record) && !isClose ? "PEPG_ADMISSION" : undefined
  if (evaluation.decision === "deny") return "PEPG"
  const reached = (gate: Gate): boolean => !isClose || isBehind(run.error_stage, gate)
  if (budget !== undefined && budget.declared_tokens > budget.run_limit && reached("CCV")) return "CCV"
  const window = budget?.window
  const halts = window && (isClose ? exceedsReservation(window) : window.total_after >= window.cap)
  if (halts && reached("MACC")) return "MACC"
  return review === undefined || review.decision_kind === "release" ? undefined : "AIVP_T4"
}

/** Whether a close used more than it had reserved and took its window to the cap by that. */
export const exceedsReservation = ({ tokens, reserved = tokens, total_after, cap }: BudgetWindow): boolean =>
  tokens > reserved && total_after >= cap

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
