/**
 * The sections that follow from what a record holds. It names their hashes and does not repeat them: verifiers rebuild them under the
 * derivation that `run.derivation` names. What each field holds: docs/formats.md sections 4 and 5.
 */
import * as v from "valibot"
import { GATES, KERNELS, STAGES } from "../vocabulary/outcomes.ts"
import { STEP_RESULTS } from "../vocabulary/pipeline-path.ts"
import {
  countSchema,
  decimalSchema,
  envelopeIdSchema,
  nonEmptySchema,
  regionSchema,
  type Shape,
  sequenceIdSchema,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { kernelRecordSchema } from "./kernel-schemas.ts"
import { section } from "./section-shape.ts"

const envelope_id = envelopeIdSchema

const transcriptEvent = v.strictObject({
  step: v.picklist([...STAGES, ...GATES]),
  result: v.picklist(STEP_RESULTS),
  /** Digest of the step, its result, the names and hashes of its products, and the hash of the event before: 64 zeros for the first. */
  hash: sha256Schema,
})
export type TranscriptEvent = Shape<typeof transcriptEvent>

/** One schema for each derived section, in the order in which they are made. */
export const DERIVED_SCHEMAS = {
  transport: section("vfa.transport.v1", {
    sequence_id: sequenceIdSchema,
    envelope_id,
    envelope_hash: sha256Schema,
    channel: v.literal("http"),
  }),
  /** Execution policy attestation: the authorisation under which the kernels ran. */
  epa: section("vfa.epa.v1", {
    envelope_hash: sha256Schema,
    transport_hash: sha256Schema,
    policy_hash: sha256Schema,
    evaluation_hash: sha256Schema,
    allow_token_hash: sha256Schema,
  }),
  /** What the record discloses of the caller's texts: hashes only, and the number of declared values. */
  leakage_bundle: section("vfa.leakage_bundle.v2", {
    envelope_id,
    payload: v.picklist(["hash_only", "hash_and_act"]),
    ai_output: v.picklist(["hash_only", "absent"]),
    /** Scalars sealed in clear per declared section; absent sections count zero. */
    declared_values: v.strictObject({
      attested_context: countSchema,
      request_substance: countSchema,
      authorization_chain: countSchema,
      regulatory_scaffolding: countSchema,
      causal_graph: countSchema,
      reproducibility_context: countSchema,
      /** Present exactly at a close. */
      closing: v.exactOptional(countSchema),
    }),
  }),
  /** Execution facts attestation: what the six kernels computed. */
  efa: section("vfa.efa.v2", {
    envelope_id,
    epa_hash: sha256Schema,
    leakage_bundle_hash: sha256Schema,
    kernels: v.pipe(v.array(kernelRecordSchema), v.length(KERNELS.length)),
  }),
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
    /** Present exactly at a close. */
    closing_hash: v.exactOptional(sha256Schema),
    aer_hash: sha256Schema,
  }),
  transcript: section("vfa.transcript.v2", {
    envelope_id,
    events: v.pipe(v.array(transcriptEvent), v.maxLength(STAGES.length + GATES.length)),
  }),
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

export type DerivedName = keyof typeof DERIVED_SCHEMAS
/** In the order in which they are made. */
export const DERIVED_NAMES: readonly DerivedName[] = [
  "transport",
  "epa",
  "leakage_bundle",
  "efa",
  "aer",
  "hardware_attestation",
  "zksp_binding",
  "migration_token",
  "replay_fingerprint",
  "transcript",
  "pote_proof",
  "registry",
  "final_vfa",
]

const opt = v.exactOptional
/** The derived sections as members of the full form. */
export const derivedEntries = {
  transport: opt(DERIVED_SCHEMAS.transport),
  epa: opt(DERIVED_SCHEMAS.epa),
  leakage_bundle: opt(DERIVED_SCHEMAS.leakage_bundle),
  efa: opt(DERIVED_SCHEMAS.efa),
  aer: opt(DERIVED_SCHEMAS.aer),
  hardware_attestation: opt(DERIVED_SCHEMAS.hardware_attestation),
  zksp_binding: opt(DERIVED_SCHEMAS.zksp_binding),
  migration_token: opt(DERIVED_SCHEMAS.migration_token),
  replay_fingerprint: opt(DERIVED_SCHEMAS.replay_fingerprint),
  transcript: opt(DERIVED_SCHEMAS.transcript),
  pote_proof: opt(DERIVED_SCHEMAS.pote_proof),
  registry: opt(DERIVED_SCHEMAS.registry),
  final_vfa: opt(DERIVED_SCHEMAS.final_vfa),
}

/** Hashes of the derived sections of a run that did not complete; those made after the log entry only a completed run has. */
const derivedHashesShape = v.strictObject({
  transport: opt(sha256Schema),
  epa: opt(sha256Schema),
  leakage_bundle: opt(sha256Schema),
  efa: opt(sha256Schema),
  aer: opt(sha256Schema),
  hardware_attestation: opt(sha256Schema),
  zksp_binding: opt(sha256Schema),
  migration_token: opt(sha256Schema),
  replay_fingerprint: opt(sha256Schema),
  transcript: opt(sha256Schema),
})
export type DerivedHashes = { readonly [name in DerivedName]?: string }
export const derivedHashesSchema: v.GenericSchema<unknown, DerivedHashes> = derivedHashesShape

export type TransportSection = Shape<typeof DERIVED_SCHEMAS.transport>
export type EpaSection = Shape<typeof DERIVED_SCHEMAS.epa>
export type EfaSection = Shape<typeof DERIVED_SCHEMAS.efa>
export type LeakageBundleSection = Shape<typeof DERIVED_SCHEMAS.leakage_bundle>
export type AerSection = Shape<typeof DERIVED_SCHEMAS.aer>
export type HardwareAttestationSection = Shape<typeof DERIVED_SCHEMAS.hardware_attestation>
export type ZkspBindingSection = Shape<typeof DERIVED_SCHEMAS.zksp_binding>
export type MigrationTokenSection = Shape<typeof DERIVED_SCHEMAS.migration_token>
export type ReplayFingerprintSection = Shape<typeof DERIVED_SCHEMAS.replay_fingerprint>
export type TranscriptSection = Shape<typeof DERIVED_SCHEMAS.transcript>
export type PoteProofSection = Shape<typeof DERIVED_SCHEMAS.pote_proof>
export type RegistrySection = Shape<typeof DERIVED_SCHEMAS.registry>
export type FinalVfaSection = Shape<typeof DERIVED_SCHEMAS.final_vfa>
