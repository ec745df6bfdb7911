/** What the findings of kernels mean, in one sentence each: for pages and reports. */
import type { FindingCode } from "../vocabulary/kernel-findings.ts"

/** What each finding means; docs/pipeline.md explains them at length. */
export const FINDING_MEANINGS: Readonly<Record<FindingCode, string>> = {
  PAYLOAD_EMPTY: "the payload has no bytes",
  TIMESTAMP_UNPARSABLE: "a declared time is no RFC 3339 date-time",
  TIMESTAMP_OUT_OF_ORDER: "a declared effect was issued before the one listed before it",
  TIMESTAMP_AFTER_ADMISSION: "a declared time is later than the admission of the run",
  APPROVERS_OUT_OF_SEQUENCE: "an approver approved before the one before, by the declared order",
  APPROVER_REPEATED: "a declared approver is one who was named before, and rules counted the name once",
  APPROVER_UNNAMED: "a declared approver has no name, and no rule counted it",
  APPROVER_IS_ACTOR: "a declared approver is the actor itself, and no rule counted it",
  ACTOR_SIGNATURE_NOT_VERIFIED: "an actor's signature was declared, and nobody verified it",
  PROMPT_HASH_MISMATCH: "two declared prompt hashes differ",
  AI_OUTPUT_HASH_MISMATCH: "the declared output hash is not that of the AI output",
  AI_OUTPUT_HASH_UNCHECKED: "an output hash was declared, and no AI output was sent to check it",
  COST_WITHOUT_TOTAL: "a cost was declared without total_tokens, and the budgets counted zero",
  COST_PARTS_EXCEED_TOTAL: "declared input and output tokens exceed the declared total, which the budgets counted",
  COST_DOES_NOT_ADD_UP: "declared input and output tokens are fewer than the declared total",
}
