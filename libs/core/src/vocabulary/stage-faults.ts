/** Which steps can fail, and the closed sentence that a record has for each failure. The cause is in the operator's log only. */
import type { Gate, Stage } from "./outcomes.ts"
import { STAGES } from "./outcomes.ts"

/** Gates that depend on a worker or a network, and so can fail: the signature scan, the reviewer. The others only compare. */
type FailingGate = Extract<Gate, "PEPG" | "AIVP_T4">
export type FailingStep = Stage | FailingGate
/** Steps that a stage_error may name as failed. */
export const FAILING_STEPS: readonly FailingStep[] = [...STAGES, "PEPG", "AIVP_T4"]

/** Stages that a run which a gate has stopped can still fail in: its log entry, and its record. */
export const SEALING_STAGES: readonly Stage[] = ["LEDGER", "DLA"]

/** Why a review failed. */
const REVIEW_FAILURE_CODES = ["unreachable", "timeout", "bad_status", "bad_answer", "too_large", "overloaded"] as const
export type ReviewFailureCode = (typeof REVIEW_FAILURE_CODES)[number]

export const REVIEW_FAILURE_SENTENCES: Readonly<Record<ReviewFailureCode, string>> = {
  unreachable: "The reviewer could not be reached.",
  timeout: "The reviewer did not answer in time.",
  bad_status: "The reviewer refused the request.",
  bad_answer: "The reviewer's answer is not a verdict.",
  too_large: "The text to review or the reviewer's answer is too large.",
  overloaded: "Too many reviews are waiting.",
}
/** Of a review that failed in a way that is none of these. */
export const REVIEW_FAILED = "The governance review failed."
export const SCAN_FAILED = "The signature scan failed."
/** Of a record that the service's own verifier refused, before it was stored. */
export const RECORD_UNVERIFIED = "The record did not pass its own verification."

/** What a record says of a stage that threw. */
export const stageFailed = (stage: Stage): string => `Stage ${stage} failed; the operator's log holds the cause.`

/** Every `error_message` of a stage_error at a step. */
export function faultSentences(step: FailingStep): readonly string[] {
  if (step === "PEPG") return [SCAN_FAILED]
  if (step === "AIVP_T4") return [...Object.values(REVIEW_FAILURE_SENTENCES), REVIEW_FAILED]
  return step === "DLA" ? [stageFailed(step), RECORD_UNVERIFIED] : [stageFailed(step)]
}
