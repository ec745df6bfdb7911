/** What the kernels find, in closed codes with a count. The findings of a record are those of its kernels. docs/pipeline.md, "Findings". */
import type { Kernel } from "./outcomes.ts"

/** Of an entry of `approvers` that rules do not count. */
export const APPROVER_CODES = ["APPROVER_REPEATED", "APPROVER_UNNAMED", "APPROVER_IS_ACTOR"] as const
export type ApproverCode = (typeof APPROVER_CODES)[number]

/** The closed vocabulary of findings. A finding never stops a run. */
export const FINDING_CODES = [
  "PAYLOAD_EMPTY",
  "TIMESTAMP_UNPARSABLE",
  "TIMESTAMP_OUT_OF_ORDER",
  "TIMESTAMP_AFTER_ADMISSION",
  "APPROVERS_OUT_OF_SEQUENCE",
  ...APPROVER_CODES,
  "ACTOR_SIGNATURE_NOT_VERIFIED",
  "PROMPT_HASH_MISMATCH",
  "AI_OUTPUT_HASH_MISMATCH",
  "AI_OUTPUT_HASH_UNCHECKED",
  "COST_WITHOUT_TOTAL",
  "COST_PARTS_EXCEED_TOTAL",
  "COST_DOES_NOT_ADD_UP",
] as const
export type FindingCode = (typeof FINDING_CODES)[number]

/** What each kernel can find, in the vocabulary's order, in which it also reports. */
export const KERNEL_FINDINGS: Readonly<Record<Kernel, readonly FindingCode[]>> = {
  DSE: ["PAYLOAD_EMPTY"],
  TOK: [
    "TIMESTAMP_UNPARSABLE",
    "TIMESTAMP_OUT_OF_ORDER",
    "TIMESTAMP_AFTER_ADMISSION",
    "APPROVERS_OUT_OF_SEQUENCE",
    ...APPROVER_CODES,
  ],
  DSC: [],
  NREP: ["ACTOR_SIGNATURE_NOT_VERIFIED"],
  AIVP: ["PROMPT_HASH_MISMATCH", "AI_OUTPUT_HASH_MISMATCH", "AI_OUTPUT_HASH_UNCHECKED"],
  DCAE: ["COST_WITHOUT_TOTAL", "COST_PARTS_EXCEED_TOTAL", "COST_DOES_NOT_ADD_UP"],
}

/** What NREP says of an actor's signature: nobody verifies one. */
export const ACTOR_SIGNATURE_STATES = ["absent", "declared_not_verified"] as const
