/**
 * Allow token, receipts and the malicious-code finding.
 * docs/formats.md section 3.
 */
import * as v from "valibot"
import type { McdCategory, McdSeverity, PepgReasonCode } from "../vocabulary/decision-codes.ts"
import {
  ATTESTED_FIELDS,
  firedRuleIdSchema,
  MCD_CATEGORIES,
  MCD_SEVERITIES,
  pepgReasonSchema,
  policyIdSchema,
  policyNameSchema,
  profileTagSchema,
  signatureIdSchema,
} from "../vocabulary/decision-codes.ts"
import type { ReceiptKey } from "../vocabulary/outcomes.ts"
import type { AivpHaltKind, ReviewAdapter, ReviewReasonCode } from "../vocabulary/review-codes.ts"
import {
  AIVP_HALT_CODES,
  AIVP_HALT_KINDS,
  reviewAdapterSchema,
  reviewReasonSchema,
} from "../vocabulary/review-codes.ts"
import { clockSchema, countSchema, envelopeIdSchema, sha256Schema, tenantIdSchema } from "../vocabulary/scalars.ts"
import { EVALUATORS } from "../vocabulary/versions.ts"

export type AllowToken = {
  readonly version: "vfa.allow_token.v1"
  readonly envelope_id: string
  readonly fired_rule_id: string
  readonly decision_reason_code: PepgReasonCode
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
  readonly decision_reason_code: PepgReasonCode
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

export type AivpT4HaltReceipt = {
  readonly version: "vfa.aivp_t4_halt.v1"
  readonly anchor_required?: boolean
  readonly envelope_id: string
  readonly adapter_id: ReviewAdapter
  readonly ai_output_hash: string
  readonly allow_token_hash: string
  readonly decision_kind: AivpHaltKind
  readonly decision_reason: ReviewReasonCode
  readonly halt_reason_code: (typeof AIVP_HALT_CODES)[AivpHaltKind]
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

export type McdFinding = {
  readonly version: "vfa.mcd_finding.v1"
  readonly category: McdCategory
  readonly envelope_id: string
  readonly finding_clock: string
  readonly library_hash: string
  readonly matched_signature_id: string
  readonly payload_fingerprint: string
  readonly severity: McdSeverity
  readonly hash: string
}

const anchorRequired = { anchor_required: v.exactOptional(v.boolean()) }
const decision = {
  envelope_id: envelopeIdSchema,
  fired_rule_id: firedRuleIdSchema,
  decision_reason_code: pepgReasonSchema,
  policy_hash: sha256Schema,
  evaluation_hash: sha256Schema,
}
const halt = {
  ...anchorRequired,
  envelope_id: envelopeIdSchema,
  allow_token_hash: sha256Schema,
  halt_clock: clockSchema,
  hash: sha256Schema,
}

export const allowTokenSchema: v.GenericSchema<unknown, AllowToken> = v.strictObject({
  version: v.literal("vfa.allow_token.v1"),
  ...decision,
  allow_clock: clockSchema,
  evaluator_version: v.literal(EVALUATORS.pepg),
  hash: sha256Schema,
})

export const denyReceiptSchema: v.GenericSchema<unknown, DenyReceipt> = v.strictObject({
  version: v.literal("vfa.deny_receipt.v1"),
  ...anchorRequired,
  ...decision,
  mcd_finding_hash: v.exactOptional(v.union([sha256Schema, v.literal("")])),
  deny_clock: clockSchema,
  evaluator_version: v.literal(EVALUATORS.pepg),
  hash: sha256Schema,
})

export const ccvHaltReceiptSchema: v.GenericSchema<unknown, CcvHaltReceipt> = v.strictObject({
  version: v.literal("vfa.ccv_halt.v1"),
  ...halt,
  halt_reason_code: v.literal("TOKEN_BUDGET_EXCEEDED"),
  constraint_type: v.literal("token_budget"),
  evaluator_version: v.literal(EVALUATORS.ccv),
  budget_limit: countSchema,
  consumed_at_halt: countSchema,
  budget_hash: sha256Schema,
  partial_execution_hash: sha256Schema,
})

export const maccHaltReceiptSchema: v.GenericSchema<unknown, MaccHaltReceipt> = v.strictObject({
  version: v.literal("vfa.macc_halt.v1"),
  ...halt,
  tenant_id: tenantIdSchema,
  evaluator_version: v.literal(EVALUATORS.macc),
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
  evaluator_version: v.literal(EVALUATORS.aivp_t4),
  adapter_id: reviewAdapterSchema,
  ai_output_hash: sha256Schema,
  decision_kind: v.picklist(AIVP_HALT_KINDS),
  decision_reason: reviewReasonSchema,
  halt_reason_code: v.picklist(Object.values(AIVP_HALT_CODES)),
  review_hash: sha256Schema,
})

const attestedFields = v.pipe(v.array(v.picklist(ATTESTED_FIELDS)), v.minLength(1), v.maxLength(ATTESTED_FIELDS.length))

export const attestationGapReceiptSchema: v.GenericSchema<unknown, AttestationGapReceipt> = v.strictObject({
  version: v.literal("vfa.attestation_gap_receipt.v1"),
  ...anchorRequired,
  envelope_id: envelopeIdSchema,
  decision_reason_code: v.literal("ATTESTATION_GAP"),
  missing_fields: attestedFields,
  required_fields: attestedFields,
  policy_hash: sha256Schema,
  policy_id: policyIdSchema,
  policy_name: policyNameSchema,
  profile_tag: v.exactOptional(profileTagSchema),
  gap_clock: clockSchema,
  evaluator_version: v.literal(EVALUATORS.admission),
  hash: sha256Schema,
})

export const mcdFindingSchema: v.GenericSchema<unknown, McdFinding> = v.strictObject({
  version: v.literal("vfa.mcd_finding.v1"),
  category: v.picklist(MCD_CATEGORIES),
  envelope_id: envelopeIdSchema,
  finding_clock: clockSchema,
  library_hash: sha256Schema,
  matched_signature_id: signatureIdSchema,
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
