/**
 * Allow token, receipts and the malicious-code finding.
 * Interface specification, "Sealed artifacts"; FORMATS §8 for the fields it does not show.
 */
import * as v from "valibot"
import type { ReceiptKey } from "../vocabulary/outcomes.ts"
import {
  clockSchema,
  countSchema,
  envelopeIdSchema,
  nonEmptySchema,
  sha256Schema,
  textSchema,
} from "../vocabulary/scalars.ts"

export type AllowToken = {
  readonly version: "vfa.allow_token.v1"
  readonly envelope_id: string
  readonly fired_rule_id: string
  readonly decision_reason_code: string
  readonly policy_hash: string
  readonly evaluation_hash: string
  readonly allow_clock: string
  readonly evaluator_version: string
  readonly hash: string
}

export type DenyReceipt = {
  readonly version: "vfa.deny_receipt.v1"
  readonly anchor_required?: boolean
  readonly envelope_id: string
  readonly fired_rule_id: string
  readonly decision_reason_code: string
  readonly policy_hash: string
  readonly evaluation_hash: string
  /** Absent when a policy rule denied; "" in older receipts. */
  readonly mcd_finding_hash?: string
  readonly deny_clock: string
  readonly evaluator_version: string
  readonly hash: string
}

export type CcvHaltReceipt = {
  readonly version: "vfa.ccv_halt.v1"
  readonly anchor_required?: boolean
  readonly envelope_id: string
  readonly halt_reason_code: "TOKEN_BUDGET_EXCEEDED"
  readonly constraint_type: "token_budget"
  readonly budget_limit: number
  readonly consumed_at_halt: number
  readonly budget_hash: string
  readonly allow_token_hash: string
  readonly partial_execution_hash: string
  readonly halt_clock: string
  readonly evaluator_version: string
  readonly hash: string
}

export type MaccHaltReceipt = {
  readonly version: "vfa.macc_halt.v1"
  readonly anchor_required?: boolean
  readonly envelope_id: string
  readonly tenant_id: string
  readonly halt_reason_code: "CUMULATIVE_TOKEN_BUDGET_EXCEEDED"
  readonly constraint_type: "cumulative_token_budget"
  readonly budget_limit: number
  readonly cumulative_at_halt: number
  readonly per_run_consumption: number
  readonly window_start: string
  readonly budget_hash: string
  readonly allow_token_hash: string
  readonly halt_clock: string
  readonly evaluator_version: string
  readonly hash: string
}

export const AIVP_HALT_KINDS = ["deny", "halt", "defer"] as const
export type AivpHaltKind = (typeof AIVP_HALT_KINDS)[number]

export type AivpT4HaltReceipt = {
  readonly version: "vfa.aivp_t4_halt.v1"
  readonly anchor_required?: boolean
  readonly envelope_id: string
  readonly adapter_id: string
  readonly ai_output_hash: string
  readonly allow_token_hash: string
  readonly decision_kind: AivpHaltKind
  readonly decision_reason: string
  readonly halt_reason_code: "AIVP_T4_DENY" | "AIVP_T4_HALT" | "AIVP_T4_DEFER"
  readonly review_hash: string
  readonly halt_clock: string
  readonly evaluator_version: string
  readonly hash: string
}

export type AttestationGapReceipt = {
  readonly version: "vfa.attestation_gap_receipt.v1"
  readonly anchor_required?: boolean
  readonly envelope_id: string
  readonly decision_reason_code: "ATTESTATION_GAP"
  /** Sorted by UTF-16 code units, as JCS sorts keys. */
  readonly missing_fields: readonly string[]
  readonly required_fields: readonly string[]
  readonly policy_hash: string
  readonly policy_id: string
  readonly policy_name: string
  readonly profile_tag?: string
  readonly gap_clock: string
  readonly evaluator_version: string
  readonly hash: string
}

export type Receipts = {
  readonly deny_receipt: DenyReceipt
  readonly ccv_halt_receipt: CcvHaltReceipt
  readonly macc_halt_receipt: MaccHaltReceipt
  readonly aivp_t4_halt_receipt: AivpT4HaltReceipt
  readonly attestation_gap_receipt: AttestationGapReceipt
}
export type Receipt = Receipts[ReceiptKey]

export const MCD_CATEGORIES = ["prompt_injection", "dangerous_api", "supply_chain", "filesystem_escape"] as const
export const MCD_SEVERITIES = ["low", "medium", "high", "critical"] as const

export type McdFinding = {
  readonly version: "vfa.mcd_finding.v1"
  readonly category: (typeof MCD_CATEGORIES)[number]
  readonly envelope_id: string
  readonly finding_clock: string
  readonly library_hash: string
  readonly matched_signature_id: string
  readonly payload_fingerprint: string
  readonly severity: (typeof MCD_SEVERITIES)[number]
  readonly hash: string
}

const anchorRequired = { anchor_required: v.exactOptional(v.boolean()) }
const decision = {
  envelope_id: envelopeIdSchema,
  fired_rule_id: nonEmptySchema,
  decision_reason_code: nonEmptySchema,
  policy_hash: sha256Schema,
  evaluation_hash: sha256Schema,
}
const halt = {
  ...anchorRequired,
  envelope_id: envelopeIdSchema,
  allow_token_hash: sha256Schema,
  halt_clock: clockSchema,
  evaluator_version: nonEmptySchema,
  hash: sha256Schema,
}

export const allowTokenSchema: v.GenericSchema<unknown, AllowToken> = v.strictObject({
  version: v.literal("vfa.allow_token.v1"),
  ...decision,
  allow_clock: clockSchema,
  evaluator_version: nonEmptySchema,
  hash: sha256Schema,
})

export const denyReceiptSchema: v.GenericSchema<unknown, DenyReceipt> = v.strictObject({
  version: v.literal("vfa.deny_receipt.v1"),
  ...anchorRequired,
  ...decision,
  mcd_finding_hash: v.exactOptional(v.union([sha256Schema, v.literal("")])),
  deny_clock: clockSchema,
  evaluator_version: nonEmptySchema,
  hash: sha256Schema,
})

export const ccvHaltReceiptSchema: v.GenericSchema<unknown, CcvHaltReceipt> = v.strictObject({
  version: v.literal("vfa.ccv_halt.v1"),
  ...halt,
  halt_reason_code: v.literal("TOKEN_BUDGET_EXCEEDED"),
  constraint_type: v.literal("token_budget"),
  budget_limit: countSchema,
  consumed_at_halt: countSchema,
  budget_hash: sha256Schema,
  partial_execution_hash: sha256Schema,
})

export const maccHaltReceiptSchema: v.GenericSchema<unknown, MaccHaltReceipt> = v.strictObject({
  version: v.literal("vfa.macc_halt.v1"),
  ...halt,
  tenant_id: nonEmptySchema,
  halt_reason_code: v.literal("CUMULATIVE_TOKEN_BUDGET_EXCEEDED"),
  constraint_type: v.literal("cumulative_token_budget"),
  budget_limit: countSchema,
  cumulative_at_halt: countSchema,
  per_run_consumption: countSchema,
  window_start: clockSchema,
  budget_hash: sha256Schema,
})

export const aivpT4HaltReceiptSchema: v.GenericSchema<unknown, AivpT4HaltReceipt> = v.strictObject({
  version: v.literal("vfa.aivp_t4_halt.v1"),
  ...halt,
  adapter_id: nonEmptySchema,
  ai_output_hash: sha256Schema,
  decision_kind: v.picklist(AIVP_HALT_KINDS),
  decision_reason: nonEmptySchema,
  halt_reason_code: v.picklist(["AIVP_T4_DENY", "AIVP_T4_HALT", "AIVP_T4_DEFER"]),
  review_hash: sha256Schema,
})

export const attestationGapReceiptSchema: v.GenericSchema<unknown, AttestationGapReceipt> = v.strictObject({
  version: v.literal("vfa.attestation_gap_receipt.v1"),
  ...anchorRequired,
  envelope_id: envelopeIdSchema,
  decision_reason_code: v.literal("ATTESTATION_GAP"),
  missing_fields: v.array(nonEmptySchema),
  required_fields: v.array(nonEmptySchema),
  policy_hash: sha256Schema,
  policy_id: nonEmptySchema,
  policy_name: nonEmptySchema,
  profile_tag: v.exactOptional(textSchema),
  gap_clock: clockSchema,
  evaluator_version: nonEmptySchema,
  hash: sha256Schema,
})

export const mcdFindingSchema: v.GenericSchema<unknown, McdFinding> = v.strictObject({
  version: v.literal("vfa.mcd_finding.v1"),
  category: v.picklist(MCD_CATEGORIES),
  envelope_id: envelopeIdSchema,
  finding_clock: clockSchema,
  library_hash: sha256Schema,
  matched_signature_id: nonEmptySchema,
  payload_fingerprint: sha256Schema,
  severity: v.picklist(MCD_SEVERITIES),
  hash: sha256Schema,
})

/** The schema behind each receipt key. */
export const RECEIPT_SCHEMAS: { readonly [Key in ReceiptKey]: v.GenericSchema<unknown, Receipts[Key]> } = {
  deny_receipt: denyReceiptSchema,
  ccv_halt_receipt: ccvHaltReceiptSchema,
  macc_halt_receipt: maccHaltReceiptSchema,
  aivp_t4_halt_receipt: aivpT4HaltReceiptSchema,
  attestation_gap_receipt: attestationGapReceiptSchema,
}

/** The receipt's own clock: the instant against which its log entry is held. */
export function receiptClock(receipt: Receipt): string {
  if ("deny_clock" in receipt) return receipt.deny_clock
  return "gap_clock" in receipt ? receipt.gap_clock : receipt.halt_clock
}
