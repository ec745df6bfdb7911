/**
 * The sections that a record holds, because nothing else in it gives them: what was received, what was decided, what the budgets held and
 * what the reviewer answered. What each field holds and what recomputes it: docs/formats.md sections 2 and 3.
 */
import * as v from "valibot"
import {
  approvalEntries,
  firedRuleIdSchema,
  MAX_RULES,
  pepgReasonSchema,
  policyIdSchema,
  policyNameSchema,
  profileTagSchema,
  ruleIdSchema,
  signatureScanSchema,
} from "../vocabulary/decision-codes.ts"
import {
  REVIEW_DECISIONS,
  reviewAdapterSchema,
  reviewReasonSchema,
  reviewRuleIdsSchema,
} from "../vocabulary/review-codes.ts"
import {
  chargeIdSchema,
  clockSchema,
  countSchema,
  enforcementSchema,
  envelopeIdSchema,
  nonEmptySchema,
  ordinalSchema,
  regionSchema,
  revisionSchema,
  routeIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { EVALUATORS, LEDGER_BACKEND } from "../vocabulary/versions.ts"
import { actSectionSchema } from "./act-section.ts"
import { approvalsSectionSchema } from "./approvals.ts"
import { DECLARED_SCHEMAS } from "./declared-sections.ts"
import { endUserSectionSchema } from "./end-user.ts"
import { CLOSING_SCHEMA, PERMIT_USE_SCHEMA } from "./permit-sections.ts"
import { mcdFindingSchema } from "./sealed-artifacts.ts"
import { section } from "./section-shape.ts"

const envelope_id = envelopeIdSchema

export const budgetWindowSchema = v.strictObject({
  charge_id: chargeIdSchema,
  cap: countSchema,
  window_seconds: ordinalSchema,
  window_start: clockSchema,
  /** Tokens of the run; of an opening those that it reserves; of a close those that it used. */
  tokens: countSchema,
  /** Of a close: what its opening had reserved. */
  reserved: v.exactOptional(countSchema),
  /** Number of the movement in its window, 1, 2, 3 … without a gap; of a close that of its last one. Absent where nothing moved. */
  ordinal: v.exactOptional(ordinalSchema),
  /** Tokens in the window after the movement; of a refused reservation those that there would have been. */
  total_after: countSchema,
})
export type BudgetWindow = Shape<typeof budgetWindowSchema>

export const neededApprovalSchema = v.strictObject({ rule_id: ruleIdSchema, ...approvalEntries })
/** Whose approval a rule requires, as the rule has it. */
export type NeededApproval = Shape<typeof neededApprovalSchema>

/** One schema for each section that a record holds. */
export const SEALED_SCHEMAS = {
  ...DECLARED_SCHEMAS,
  payload: section("vfa.payload.v1", {
    /** SHA-256 over the payload's UTF-8 bytes; the payload itself is stored nowhere. */
    payload_hash: sha256Schema,
    payload_bytes: countSchema,
    ai_output_hash: v.exactOptional(sha256Schema),
    ai_output_bytes: v.exactOptional(countSchema),
  }),
  envelope: section("vfa.envelope.v2", {
    envelope_id,
    program_id: sha256Schema,
    route_id: routeIdSchema,
    registry_record_hash: sha256Schema,
    payload_hash: sha256Schema,
    tenant_id: tenantIdSchema,
    execution_region: regionSchema,
    admission_clock: clockSchema,
    run_nonce: sha256Schema,
    declared_sections_hash: sha256Schema,
    /** Present exactly where a token of an end user was presented. */
    end_user_hash: v.exactOptional(sha256Schema),
    enforcement: v.exactOptional(enforcementSchema),
  }),
  end_user: endUserSectionSchema,
  act: actSectionSchema,
  approvals: approvalsSectionSchema,
  policy_evaluation: section("vfa.policy_evaluation.v3", {
    envelope_id,
    policy_id: policyIdSchema,
    policy_name: policyNameSchema,
    profile_tag: v.exactOptional(profileTagSchema),
    policy_hash: sha256Schema,
    decision: v.picklist(["allow", "deny"]),
    fired_rule_id: firedRuleIdSchema,
    decision_reason_code: pepgReasonSchema,
    matched_rule_ids: v.pipe(v.array(ruleIdSchema), v.maxLength(MAX_RULES)),
    /** Whose approval each matched rule requires; present exactly where rules that require one determined the decision. */
    needed: v.exactOptional(v.pipe(v.array(neededApprovalSchema), v.minLength(1), v.maxLength(MAX_RULES))),
    signature_library_hash: sha256Schema,
    signature_scan: signatureScanSchema,
    mcd_finding_hash: v.exactOptional(sha256Schema),
    engine: nonEmptySchema,
    engine_version: nonEmptySchema,
    /** Present exactly where an act table names the route. */
    act_hash: v.exactOptional(sha256Schema),
    end_user_hash: v.exactOptional(sha256Schema),
    /** Both exactly where the run rests on a request for an approval. The request is named also where the approvals are withheld. */
    approvals_hash: v.exactOptional(sha256Schema),
    approval_request_hash: v.exactOptional(sha256Schema),
    /** What the policy was given and no other section has. */
    facts: v.strictObject({
      /** Declared as used; of an opening those that it reserves. */
      tokens: countSchema,
      /** Present exactly where a rule of the policy reads it. */
      payload_is_json: v.exactOptional(v.boolean()),
      /** These three of a permit, at its opening and at its close. */
      audience: v.exactOptional(nonEmptySchema),
      redeem_required: v.exactOptional(v.boolean()),
      valid_for_seconds: v.exactOptional(countSchema),
    }),
    /** Of the request that the engine decided on; present exactly where rules were asked. */
    context_hash: v.exactOptional(sha256Schema),
    evaluation_clock: clockSchema,
    evaluator_version: v.literal(EVALUATORS.pepg),
  }),
  system_provenance: section("vfa.system_provenance.v1", {
    service: nonEmptySchema,
    service_version: nonEmptySchema,
    orchestrator_version: nonEmptySchema,
    source_revision: revisionSchema,
    runtime: v.literal("node"),
    runtime_version: nonEmptySchema,
    platform: nonEmptySchema,
    ledger_backend: v.literal(LEDGER_BACKEND),
    mode: v.literal("software"),
    disclosure: nonEmptySchema,
  }),
  permit: PERMIT_USE_SCHEMA,
  closing: CLOSING_SCHEMA,
  mcd_finding: mcdFindingSchema,
  budget_snapshot: section("vfa.budget_snapshot.v1", {
    envelope_id,
    tenant_id: tenantIdSchema,
    run_limit: countSchema,
    /** Of a refused opening: those that it would have reserved. */
    declared_tokens: countSchema,
    /** Present exactly when the run is an opening that a budget refused. */
    purpose: v.exactOptional(v.literal("reservation")),
    /** Absent when the per-run budget halted a run that is no close: nothing was charged then. */
    window: v.exactOptional(budgetWindowSchema),
  }),
  governance_review: section("vfa.governance_review.v1", {
    envelope_id,
    adapter_id: reviewAdapterSchema,
    model: v.exactOptional(nonEmptySchema),
    ai_output_hash: v.exactOptional(sha256Schema),
    decision_kind: v.picklist(REVIEW_DECISIONS),
    /** A closed code; a reviewer's prose is never stored. */
    decision_reason: reviewReasonSchema,
    rule_ids: reviewRuleIdsSchema,
    finding_count: countSchema,
    review_clock: clockSchema,
    evaluator_version: v.literal(EVALUATORS.aivp_t4),
  }),
}

const opt = v.exactOptional
/** They as members of a record. */
export const sealedEntries = {
  ...SEALED_SCHEMAS,
  /** Absent only from a stage_error that failed there. */
  envelope: opt(SEALED_SCHEMAS.envelope),
  /** Present exactly where a token of an end user was presented. */
  end_user: opt(SEALED_SCHEMAS.end_user),
  /** Present exactly where the policy gate was reached and an act table of the policy names the route. */
  act: opt(SEALED_SCHEMAS.act),
  /** Present exactly where the run ends a request for an approval, or closes a permit that one was given for. */
  approvals: opt(SEALED_SCHEMAS.approvals),
  policy_evaluation: opt(SEALED_SCHEMAS.policy_evaluation),
  /** Both in every record of a close, and in no other. */
  permit: opt(SEALED_SCHEMAS.permit),
  closing: opt(SEALED_SCHEMAS.closing),
  mcd_finding: opt(SEALED_SCHEMAS.mcd_finding),
  budget_snapshot: opt(SEALED_SCHEMAS.budget_snapshot),
  governance_review: opt(SEALED_SCHEMAS.governance_review),
}
const sealedShape = v.strictObject(sealedEntries)

export type SealedSections = Shape<typeof sealedShape>
export const sealedSectionsSchema: v.GenericSchema<unknown, SealedSections> = sealedShape

export type PayloadSection = Shape<typeof SEALED_SCHEMAS.payload>
export type EnvelopeSection = Shape<typeof SEALED_SCHEMAS.envelope>
export type SystemProvenanceSection = Shape<typeof SEALED_SCHEMAS.system_provenance>
export type PolicyEvaluationSection = Shape<typeof SEALED_SCHEMAS.policy_evaluation>
export type BudgetSnapshotSection = Shape<typeof SEALED_SCHEMAS.budget_snapshot>
export type GovernanceReviewSection = Shape<typeof SEALED_SCHEMAS.governance_review>
