/**
 * Allow token, receipts and the malicious-code finding.
 * docs/formats.md section 3.
 */
import * as v from "valibot"
import {
  ATTESTED_FIELDS,
  firedRuleIdSchema,
  MCD_CATEGORIES,
  MCD_SEVERITIES,
  matchedInSchema,
  pepgReasonSchema,
  policyIdSchema,
  policyNameSchema,
  profileTagSchema,
  signatureIdSchema,
} from "../vocabulary/decision-codes.ts"
import type { ReceiptKey } from "../vocabulary/outcomes.ts"
import {
  AIVP_HALT_CODES,
  AIVP_HALT_KINDS,
  reviewAdapterSchema,
  reviewReasonSchema,
} from "../vocabulary/review-codes.ts"
import {
  clockSchema,
  countSchema,
  envelopeIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { EVALUATORS } from "../vocabulary/versions.ts"

const anchorRequired = { anchor_required: v.exactOptional(v.literal(true)) }
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

export const allowTokenSchema = v.strictObject({
  version: v.literal("vfa.allow_token.v1"),
  ...decision,
  allow_clock: clockSchema,
  evaluator_version: v.literal(EVALUATORS.pepg),
  hash: sha256Schema,
})
export type AllowToken = Shape<typeof allowTokenSchema>

const denyReceiptSchema = v.strictObject({
  version: v.literal("vfa.deny_receipt.v1"),
  ...anchorRequired,
  ...decision,
  /** Absent when a policy rule denied; "" in older receipts. */
  mcd_finding_hash: v.exactOptional(v.union([sha256Schema, v.literal("")])),
  deny_clock: clockSchema,
  evaluator_version: v.literal(EVALUATORS.pepg),
  hash: sha256Schema,
})
export type DenyReceipt = Shape<typeof denyReceiptSchema>

const ccvHaltReceiptSchema = v.strictObject({
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
export type CcvHaltReceipt = Shape<typeof ccvHaltReceiptSchema>

const maccHaltReceiptSchema = v.strictObject({
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
export type MaccHaltReceipt = Shape<typeof maccHaltReceiptSchema>

const aivpT4HaltReceiptSchema = v.strictObject({
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
export type AivpT4HaltReceipt = Shape<typeof aivpT4HaltReceiptSchema>

const attestedFields = v.pipe(v.array(v.picklist(ATTESTED_FIELDS)), v.minLength(1), v.maxLength(ATTESTED_FIELDS.length))

const attestationGapReceiptSchema = v.strictObject({
  version: v.literal("vfa.attestation_gap_receipt.v1"),
  ...anchorRequired,
  envelope_id: envelopeIdSchema,
  decision_reason_code: v.literal("ATTESTATION_GAP"),
  /** Sorted by UTF-16 code units, as JCS sorts keys. */
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
export type AttestationGapReceipt = Shape<typeof attestationGapReceiptSchema>

export const mcdFindingSchema = v.strictObject({
  version: v.literal("vfa.mcd_finding.v2"),
  category: v.picklist(MCD_CATEGORIES),
  envelope_id: envelopeIdSchema,
  finding_clock: clockSchema,
  library_hash: sha256Schema,
  matched_signature_id: signatureIdSchema,
  /** `payload`, `ai_output`, or the pointer of the declared text. */
  matched_in: matchedInSchema,
  /** Of that text. */
  text_fingerprint: sha256Schema,
  severity: v.picklist(MCD_SEVERITIES),
  hash: sha256Schema,
})
export type McdFinding = Shape<typeof mcdFindingSchema>

/** The schema behind each receipt key. */
export const RECEIPT_SCHEMAS = {
  deny_receipt: denyReceiptSchema,
  ccv_halt_receipt: ccvHaltReceiptSchema,
  macc_halt_receipt: maccHaltReceiptSchema,
  aivp_t4_halt_receipt: aivpT4HaltReceiptSchema,
  attestation_gap_receipt: attestationGapReceiptSchema,
}
export type Receipts = { readonly [Key in ReceiptKey]: Shape<(typeof RECEIPT_SCHEMAS)[Key]> }
export type Receipt = Receipts[ReceiptKey]

/** The receipt's own clock: the instant against which its log entry is held. */
export function receiptClock(receipt: Receipt): string {
  if ("deny_clock" in receipt) return receipt.deny_clock
  return "gap_clock" in receipt ? receipt.gap_clock : receipt.halt_clock
}
