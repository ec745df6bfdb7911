/**
 * The sections a bundle is made of. A section is `{kind, …, hash}`; its hash covers everything else in it.
 * What each field holds and what recomputes it: docs/formats.md sections 2 to 5.
 */
import * as v from "valibot"
import {
  firedRuleIdSchema,
  MAX_RULES,
  pepgReasonSchema,
  policyIdSchema,
  policyNameSchema,
  profileTagSchema,
  ruleIdSchema,
  signatureScanSchema,
} from "../vocabulary/decision-codes.ts"
import { GATES, KERNELS, STAGES } from "../vocabulary/outcomes.ts"
import { STEP_RESULTS } from "../vocabulary/pipeline-path.ts"
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
  decimalSchema,
  envelopeIdSchema,
  nonEmptySchema,
  ordinalSchema,
  regionSchema,
  revisionSchema,
  routeIdSchema,
  type Shape,
  sequenceIdSchema,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { EVALUATORS, LEDGER_BACKEND } from "../vocabulary/versions.ts"
import { DECLARED_SCHEMAS } from "./declared-sections.ts"
import { kernelRecordSchema } from "./kernel-schemas.ts"
import { mcdFindingSchema } from "./sealed-artifacts.ts"

/** A section: its kind, its fields, and the hash over both. */
const section = <const Kind extends string, const Fields extends v.ObjectEntries>(kind: Kind, fields: Fields) =>
  v.strictObject({ kind: v.literal(kind), ...fields, hash: sha256Schema })

const envelope_id = envelopeIdSchema

const preExecution = {
  payload: section("vfa.payload.v1", {
    /** SHA-256 over the payload's UTF-8 bytes; the payload itself is stored nowhere. */
    payload_hash: sha256Schema,
    payload_bytes: countSchema,
    ai_output_hash: v.exactOptional(sha256Schema),
    ai_output_bytes: v.exactOptional(countSchema),
  }),
  envelope: section("vfa.envelope.v1", {
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
  }),
  transport: section("vfa.transport.v1", {
    sequence_id: sequenceIdSchema,
    envelope_id,
    envelope_hash: sha256Schema,
    channel: v.literal("http"),
  }),
  policy_evaluation: section("vfa.policy_evaluation.v2", {
    envelope_id,
    policy_id: policyIdSchema,
    policy_name: policyNameSchema,
    profile_tag: v.exactOptional(profileTagSchema),
    policy_hash: sha256Schema,
    decision: v.picklist(["allow", "deny"]),
    fired_rule_id: firedRuleIdSchema,
    decision_reason_code: pepgReasonSchema,
    matched_rule_ids: v.pipe(v.array(ruleIdSchema), v.maxLength(MAX_RULES)),
    signature_library_hash: sha256Schema,
    signature_scan: signatureScanSchema,
    mcd_finding_hash: v.exactOptional(sha256Schema),
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
}

const budgetWindow = v.strictObject({
  charge_id: chargeIdSchema,
  cap: countSchema,
  window_seconds: ordinalSchema,
  window_start: clockSchema,
  tokens: countSchema,
  total_after: countSchema,
})
export type BudgetWindow = Shape<typeof budgetWindow>

const execution = {
  /** Execution policy attestation: the authorisation under which the kernels ran. */
  epa: section("vfa.epa.v1", {
    envelope_hash: sha256Schema,
    transport_hash: sha256Schema,
    policy_hash: sha256Schema,
    evaluation_hash: sha256Schema,
    allow_token_hash: sha256Schema,
  }),
  /** Execution facts attestation: what the six kernels computed. */
  efa: section("vfa.efa.v2", {
    envelope_id,
    epa_hash: sha256Schema,
    leakage_bundle_hash: sha256Schema,
    kernels: v.pipe(v.array(kernelRecordSchema), v.length(KERNELS.length)),
  }),
  /** What the record discloses of the caller's texts: hashes only, and the number of declared values. */
  leakage_bundle: section("vfa.leakage_bundle.v1", {
    envelope_id,
    payload: v.literal("hash_only"),
    ai_output: v.picklist(["hash_only", "absent"]),
    /** Scalars sealed in clear per declared section; absent sections count zero. */
    declared_values: v.strictObject({
      attested_context: countSchema,
      request_substance: countSchema,
      authorization_chain: countSchema,
      regulatory_scaffolding: countSchema,
      causal_graph: countSchema,
      reproducibility_context: countSchema,
    }),
  }),
  budget_snapshot: section("vfa.budget_snapshot.v1", {
    envelope_id,
    tenant_id: tenantIdSchema,
    run_limit: countSchema,
    declared_tokens: countSchema,
    /** Absent when the per-run budget halted the run: nothing was charged then. */
    window: v.exactOptional(budgetWindow),
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

const transcriptEvent = v.strictObject({
  step: v.picklist([...STAGES, ...GATES]),
  result: v.picklist(STEP_RESULTS),
  /** Digest of the step, its result, the names and hashes of its products, and the hash of the event before: 64 zeros for the first. */
  hash: sha256Schema,
})
export type TranscriptEvent = Shape<typeof transcriptEvent>

const evidence = {
  aer: section("vfa.aer.v1", {
    envelope_hash: sha256Schema,
    transport_hash: sha256Schema,
    epa_hash: sha256Schema,
    efa_hash: sha256Schema,
    leakage_bundle_hash: sha256Schema,
    execution_ids: v.pipe(v.array(sha256Schema), v.length(KERNELS.length)),
    allow_token_hash: sha256Schema,
    budget_snapshot_hash: sha256Schema,
    governance_review_hash: sha256Schema,
  }),
  hardware_attestation: section("vfa.hardware_attestation.v1", {
    envelope_id,
    mode: v.literal("software"),
    disclosure: nonEmptySchema,
  }),
  zksp_binding: section("vfa.zksp_binding.v1", {
    mode: v.literal("hash_commitment"),
    disclosure: nonEmptySchema,
    aer_hash: sha256Schema,
    payload_hash: sha256Schema,
    hardware_attestation_hash: sha256Schema,
  }),
  migration_token: section("vfa.migration_token.v1", {
    envelope_id,
    tenant_id: tenantIdSchema,
    execution_region: regionSchema,
    aer_hash: sha256Schema,
    zksp_binding_hash: sha256Schema,
  }),
  replay_fingerprint: section("vfa.replay_fingerprint.v1", {
    envelope_id,
    /** Equal for two runs of the same program, route, registry record, payload, AI output, policy and kernels. */
    input_fingerprint: sha256Schema,
    aer_hash: sha256Schema,
  }),
  transcript: section("vfa.transcript.v2", {
    envelope_id,
    events: v.pipe(v.array(transcriptEvent), v.maxLength(STAGES.length + GATES.length)),
  }),
}

const ledger = {
  pote_proof: section("vfa.pote_proof.v1", {
    leaf_hash: sha256Schema,
    entry_hash: sha256Schema,
    log_id: sha256Schema,
    log_index: decimalSchema,
    integrated_time: decimalSchema,
  }),
  registry: section("vfa.registry.v1", {
    envelope_id,
    /** Sorted by name. */
    artifacts: v.array(v.strictObject({ name: nonEmptySchema, hash: sha256Schema })),
  }),
  final_vfa: section("vfa.final_vfa.v2", {
    envelope_id,
    registry_hash: sha256Schema,
    declared_sections_hash: sha256Schema,
  }),
}

/** One schema per section name. */
export const SECTION_SCHEMAS = {
  ...DECLARED_SCHEMAS,
  ...preExecution,
  ...execution,
  ...evidence,
  ...ledger,
  mcd_finding: mcdFindingSchema,
}

const opt = v.exactOptional
const sectionsShape = v.strictObject({
  ...SECTION_SCHEMAS,
  /** Envelope and transport are absent only from a stage_error that failed there. */
  envelope: opt(SECTION_SCHEMAS.envelope),
  transport: opt(SECTION_SCHEMAS.transport),
  epa: opt(SECTION_SCHEMAS.epa),
  efa: opt(SECTION_SCHEMAS.efa),
  aer: opt(SECTION_SCHEMAS.aer),
  transcript: opt(SECTION_SCHEMAS.transcript),
  hardware_attestation: opt(SECTION_SCHEMAS.hardware_attestation),
  leakage_bundle: opt(SECTION_SCHEMAS.leakage_bundle),
  zksp_binding: opt(SECTION_SCHEMAS.zksp_binding),
  migration_token: opt(SECTION_SCHEMAS.migration_token),
  replay_fingerprint: opt(SECTION_SCHEMAS.replay_fingerprint),
  pote_proof: opt(SECTION_SCHEMAS.pote_proof),
  registry: opt(SECTION_SCHEMAS.registry),
  final_vfa: opt(SECTION_SCHEMAS.final_vfa),
  policy_evaluation: opt(SECTION_SCHEMAS.policy_evaluation),
  budget_snapshot: opt(SECTION_SCHEMAS.budget_snapshot),
  governance_review: opt(SECTION_SCHEMAS.governance_review),
  mcd_finding: opt(SECTION_SCHEMAS.mcd_finding),
})

export type Sections = Shape<typeof sectionsShape>
export const sectionsSchema: v.GenericSchema<unknown, Sections> = sectionsShape
export type SectionName = keyof Sections

export type PayloadSection = Shape<typeof SECTION_SCHEMAS.payload>
export type EnvelopeSection = Shape<typeof SECTION_SCHEMAS.envelope>
export type TransportSection = Shape<typeof SECTION_SCHEMAS.transport>
export type EpaSection = Shape<typeof SECTION_SCHEMAS.epa>
export type EfaSection = Shape<typeof SECTION_SCHEMAS.efa>
export type LeakageBundleSection = Shape<typeof SECTION_SCHEMAS.leakage_bundle>
export type AerSection = Shape<typeof SECTION_SCHEMAS.aer>
export type HardwareAttestationSection = Shape<typeof SECTION_SCHEMAS.hardware_attestation>
export type ZkspBindingSection = Shape<typeof SECTION_SCHEMAS.zksp_binding>
export type MigrationTokenSection = Shape<typeof SECTION_SCHEMAS.migration_token>
export type ReplayFingerprintSection = Shape<typeof SECTION_SCHEMAS.replay_fingerprint>
export type TranscriptSection = Shape<typeof SECTION_SCHEMAS.transcript>
export type PoteProofSection = Shape<typeof SECTION_SCHEMAS.pote_proof>
export type RegistrySection = Shape<typeof SECTION_SCHEMAS.registry>
export type FinalVfaSection = Shape<typeof SECTION_SCHEMAS.final_vfa>
export type SystemProvenanceSection = Shape<typeof SECTION_SCHEMAS.system_provenance>
export type PolicyEvaluationSection = Shape<typeof SECTION_SCHEMAS.policy_evaluation>
export type BudgetSnapshotSection = Shape<typeof SECTION_SCHEMAS.budget_snapshot>
export type GovernanceReviewSection = Shape<typeof SECTION_SCHEMAS.governance_review>
