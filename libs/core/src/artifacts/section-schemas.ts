/** Schemas of the sections; the types they check against are in sections.ts. */
import * as v from "valibot"
import {
  firedRuleIdSchema,
  MAX_RULES,
  pepgReasonSchema,
  policyIdSchema,
  policyNameSchema,
  profileTagSchema,
  ruleIdSchema,
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
  sequenceIdSchema,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { EVALUATORS, LEDGER_BACKEND } from "../vocabulary/versions.ts"
import { DECLARED_SCHEMAS } from "./declared-sections.ts"
import { kernelRecordSchema } from "./kernel-schemas.ts"
import { mcdFindingSchema } from "./sealed-artifacts.ts"
import type { SectionName, Sections } from "./sections.ts"

const hash = { hash: sha256Schema }
const envelope_id = envelopeIdSchema
const hashRecordSchema = v.record(nonEmptySchema, sha256Schema)

const preExecution = {
  payload: v.strictObject({
    kind: v.literal("vfa.payload.v1"),
    payload_hash: sha256Schema,
    payload_bytes: countSchema,
    ai_output_hash: v.exactOptional(sha256Schema),
    ai_output_bytes: v.exactOptional(countSchema),
    ...hash,
  }),
  envelope: v.strictObject({
    kind: v.literal("vfa.envelope.v1"),
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
    ...hash,
  }),
  transport: v.strictObject({
    kind: v.literal("vfa.transport.v1"),
    sequence_id: sequenceIdSchema,
    envelope_id,
    envelope_hash: sha256Schema,
    channel: v.literal("http"),
    ...hash,
  }),
  policy_evaluation: v.strictObject({
    kind: v.literal("vfa.policy_evaluation.v1"),
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
    mcd_finding_hash: v.exactOptional(sha256Schema),
    evaluation_clock: clockSchema,
    evaluator_version: v.literal(EVALUATORS.pepg),
    ...hash,
  }),
  system_provenance: v.strictObject({
    kind: v.literal("vfa.system_provenance.v1"),
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
    ...hash,
  }),
}

const execution = {
  epa: v.strictObject({
    kind: v.literal("vfa.epa.v1"),
    envelope_hash: sha256Schema,
    transport_hash: sha256Schema,
    policy_hash: sha256Schema,
    evaluation_hash: sha256Schema,
    allow_token_hash: sha256Schema,
    ...hash,
  }),
  efa: v.strictObject({
    kind: v.literal("vfa.efa.v1"),
    envelope_id,
    epa_hash: sha256Schema,
    leakage_bundle_hash: sha256Schema,
    kernels: v.pipe(v.array(kernelRecordSchema), v.length(KERNELS.length)),
    ...hash,
  }),
  leakage_bundle: v.strictObject({
    kind: v.literal("vfa.leakage_bundle.v1"),
    envelope_id,
    payload: v.literal("hash_only"),
    ai_output: v.picklist(["hash_only", "absent"]),
    declared_values: v.strictObject({
      attested_context: countSchema,
      request_substance: countSchema,
      authorization_chain: countSchema,
      regulatory_scaffolding: countSchema,
      causal_graph: countSchema,
      reproducibility_context: countSchema,
    }),
    ...hash,
  }),
  budget_snapshot: v.strictObject({
    kind: v.literal("vfa.budget_snapshot.v1"),
    envelope_id,
    tenant_id: tenantIdSchema,
    run_limit: countSchema,
    declared_tokens: countSchema,
    window: v.exactOptional(
      v.strictObject({
        charge_id: chargeIdSchema,
        cap: countSchema,
        window_seconds: ordinalSchema,
        window_start: clockSchema,
        tokens: countSchema,
        total_after: countSchema,
      }),
    ),
    ...hash,
  }),
  governance_review: v.strictObject({
    kind: v.literal("vfa.governance_review.v1"),
    envelope_id,
    adapter_id: reviewAdapterSchema,
    model: v.exactOptional(nonEmptySchema),
    ai_output_hash: v.exactOptional(sha256Schema),
    decision_kind: v.picklist(REVIEW_DECISIONS),
    decision_reason: reviewReasonSchema,
    rule_ids: reviewRuleIdsSchema,
    finding_count: countSchema,
    review_clock: clockSchema,
    evaluator_version: v.literal(EVALUATORS.aivp_t4),
    ...hash,
  }),
}

const evidence = {
  aer: v.strictObject({
    kind: v.literal("vfa.aer.v1"),
    envelope_hash: sha256Schema,
    transport_hash: sha256Schema,
    epa_hash: sha256Schema,
    efa_hash: sha256Schema,
    leakage_bundle_hash: sha256Schema,
    execution_ids: v.pipe(v.array(sha256Schema), v.length(KERNELS.length)),
    allow_token_hash: sha256Schema,
    budget_snapshot_hash: sha256Schema,
    governance_review_hash: sha256Schema,
    ...hash,
  }),
  hardware_attestation: v.strictObject({
    kind: v.literal("vfa.hardware_attestation.v1"),
    envelope_id,
    mode: v.literal("software"),
    disclosure: nonEmptySchema,
    ...hash,
  }),
  zksp_binding: v.strictObject({
    kind: v.literal("vfa.zksp_binding.v1"),
    mode: v.literal("hash_commitment"),
    disclosure: nonEmptySchema,
    aer_hash: sha256Schema,
    payload_hash: sha256Schema,
    hardware_attestation_hash: sha256Schema,
    ...hash,
  }),
  migration_token: v.strictObject({
    kind: v.literal("vfa.migration_token.v1"),
    envelope_id,
    tenant_id: tenantIdSchema,
    execution_region: regionSchema,
    aer_hash: sha256Schema,
    zksp_binding_hash: sha256Schema,
    ...hash,
  }),
  replay_fingerprint: v.strictObject({
    kind: v.literal("vfa.replay_fingerprint.v1"),
    envelope_id,
    input_fingerprint: sha256Schema,
    aer_hash: sha256Schema,
    ...hash,
  }),
  transcript: v.strictObject({
    kind: v.literal("vfa.transcript.v1"),
    envelope_id,
    events: v.pipe(
      v.array(
        v.strictObject({
          step: v.picklist([...STAGES, ...GATES]),
          result: v.picklist(STEP_RESULTS),
          input_hash: sha256Schema,
          output_hash: sha256Schema,
        }),
      ),
      v.maxLength(STAGES.length + GATES.length),
    ),
    ...hash,
  }),
}

const ledger = {
  pote_proof: v.strictObject({
    kind: v.literal("vfa.pote_proof.v1"),
    leaf_hash: sha256Schema,
    entry_hash: sha256Schema,
    log_id: sha256Schema,
    log_index: decimalSchema,
    integrated_time: decimalSchema,
    ...hash,
  }),
  registry: v.strictObject({
    kind: v.literal("vfa.registry.v1"),
    envelope_id,
    artifacts: v.array(v.strictObject({ name: nonEmptySchema, hash: sha256Schema })),
    ...hash,
  }),
  final_vfa: v.strictObject({
    kind: v.literal("vfa.final_vfa.v1"),
    envelope_id,
    section_hashes: hashRecordSchema,
    registry_hash: sha256Schema,
    declared_sections_hash: sha256Schema,
    ...hash,
  }),
}

/** One schema per section name; `Required` because the schema speaks of a section that is there. */
export const SECTION_SCHEMAS: { readonly [Name in SectionName]: v.GenericSchema<unknown, Required<Sections>[Name]> } = {
  ...DECLARED_SCHEMAS,
  ...preExecution,
  ...execution,
  ...evidence,
  ...ledger,
  mcd_finding: mcdFindingSchema,
}
