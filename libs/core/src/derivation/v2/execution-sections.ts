/** Preimages of the derived sections of stages 2 to 6. docs/formats.md section 4. */
import { digest } from "@runseal/canonical"
import type { ActSection } from "../../artifacts/act-section.ts"
import type { DeclaredName, DeclaredSection } from "../../artifacts/declared-sections.ts"
import type {
  AerSection,
  EfaSection,
  EpaSection,
  HardwareAttestationSection,
  LeakageBundleSection,
  MigrationTokenSection,
  ReplayFingerprintSection,
  TransportSection,
  ZkspBindingSection,
} from "../../artifacts/derived-sections.ts"
import type { KernelRecord } from "../../artifacts/kernel-schemas.ts"
import type { AllowToken } from "../../artifacts/sealed-artifacts.ts"
import type {
  BudgetSnapshotSection,
  EnvelopeSection,
  GovernanceReviewSection,
  PayloadSection,
  PolicyEvaluationSection,
} from "../../artifacts/sealed-sections.ts"
import { sequenceId } from "../../formulas/moment.ts"
import type { Unsealed } from "../../formulas/seal.ts"
import { KERNEL_VERSION } from "../../vocabulary/versions.ts"

/** Stage 2, DTL: the envelope's place in the order of what was received. */
export const transportSection = (envelope: EnvelopeSection): Unsealed<TransportSection> => ({
  kind: "vfa.transport.v1",
  sequence_id: sequenceId(envelope.hash),
  envelope_id: envelope.envelope_id,
  envelope_hash: envelope.hash,
  channel: "http",
})

export type DeclaredValueCounts = Readonly<Record<DeclaredName, number>> & { readonly closing?: number }

/** What the record itself discloses of the caller's texts. */
export const leakageBundleSection = (
  envelope: EnvelopeSection,
  payload: PayloadSection,
  counts: DeclaredValueCounts,
  act: ActSection | undefined,
): Unsealed<LeakageBundleSection> => ({
  kind: "vfa.leakage_bundle.v2",
  envelope_id: envelope.envelope_id,
  payload: act === undefined ? "hash_only" : "hash_and_act",
  ai_output: payload.ai_output_hash === undefined ? "absent" : "hash_only",
  declared_values: counts,
})

/** Execution policy attestation: the authorisation under which the kernels run. */
export const epaSection = (
  envelope: EnvelopeSection,
  transport: TransportSection,
  evaluation: PolicyEvaluationSection,
  token: AllowToken,
): Unsealed<EpaSection> => ({
  kind: "vfa.epa.v1",
  envelope_hash: envelope.hash,
  transport_hash: transport.hash,
  policy_hash: evaluation.policy_hash,
  evaluation_hash: evaluation.hash,
  allow_token_hash: token.hash,
})

/** Execution facts attestation: the six kernel records. */
export const efaSection = (
  envelope: EnvelopeSection,
  epa: EpaSection,
  leakage: LeakageBundleSection,
  kernels: readonly KernelRecord[],
): Unsealed<EfaSection> => ({
  kind: "vfa.efa.v2",
  envelope_id: envelope.envelope_id,
  epa_hash: epa.hash,
  leakage_bundle_hash: leakage.hash,
  kernels,
})

type AerInputs = {
  readonly envelope: EnvelopeSection
  readonly transport: TransportSection
  readonly epa: EpaSection
  readonly efa: EfaSection
  readonly leakage_bundle: LeakageBundleSection
  readonly allow_token: AllowToken
  readonly budget_snapshot: BudgetSnapshotSection
  readonly governance_review: GovernanceReviewSection
}

/** Stage 4, AER: the execution record, made only after every gate passed. */
export const aerSection = (inputs: AerInputs): Unsealed<AerSection> => ({
  kind: "vfa.aer.v1",
  envelope_hash: inputs.envelope.hash,
  transport_hash: inputs.transport.hash,
  epa_hash: inputs.epa.hash,
  efa_hash: inputs.efa.hash,
  leakage_bundle_hash: inputs.leakage_bundle.hash,
  execution_ids: inputs.efa.kernels.map(record => record.execution_id),
  allow_token_hash: inputs.allow_token.hash,
  budget_snapshot_hash: inputs.budget_snapshot.hash,
  governance_review_hash: inputs.governance_review.hash,
})

/** Stage 5, ZKSP: says that no hardware quote was taken. */
export const hardwareAttestationSection = (envelope: EnvelopeSection): Unsealed<HardwareAttestationSection> => ({
  kind: "vfa.hardware_attestation.v1",
  envelope_id: envelope.envelope_id,
  mode: "software",
  disclosure: "No hardware quote was taken: this record was made by software alone.",
})

/** Stage 5, ZKSP: binds execution record and payload; says that it is a commitment and no zero-knowledge proof. */
export const zkspBindingSection = (
  aer: AerSection,
  payload: PayloadSection,
  hardware: HardwareAttestationSection,
): Unsealed<ZkspBindingSection> => ({
  kind: "vfa.zksp_binding.v1",
  mode: "hash_commitment",
  disclosure: "A hash commitment: no zero-knowledge proof was made.",
  aer_hash: aer.hash,
  payload_hash: payload.payload_hash,
  hardware_attestation_hash: hardware.hash,
})

/** Stage 6, PHASE4: ties the record to tenant and region, so that a copy elsewhere still names where it was made. */
export const migrationTokenSection = (
  envelope: EnvelopeSection,
  aer: AerSection,
  zksp: ZkspBindingSection,
): Unsealed<MigrationTokenSection> => ({
  kind: "vfa.migration_token.v1",
  envelope_id: envelope.envelope_id,
  tenant_id: envelope.tenant_id,
  execution_region: envelope.execution_region,
  aer_hash: aer.hash,
  zksp_binding_hash: zksp.hash,
})

/** Stage 6, PHASE4: a fingerprint of the inputs without clock and nonce, equal for equal inputs; at a close beside the hash of what it declares. */
export const replayFingerprintSection = (
  envelope: EnvelopeSection,
  payload: PayloadSection,
  policyHash: string,
  aer: AerSection,
  closing?: DeclaredSection,
): Unsealed<ReplayFingerprintSection> => ({
  kind: "vfa.replay_fingerprint.v1",
  envelope_id: envelope.envelope_id,
  input_fingerprint: digest({
    kind: "vfa.input_fingerprint.v1",
    program_id: envelope.program_id,
    route_id: envelope.route_id,
    registry_record_hash: envelope.registry_record_hash,
    payload_hash: payload.payload_hash,
    ...(payload.ai_output_hash === undefined ? {} : { ai_output_hash: payload.ai_output_hash }),
    policy_hash: policyHash,
    kernel_version: KERNEL_VERSION,
  }),
  ...(closing === undefined ? {} : { closing_hash: closing.hash }),
  aer_hash: aer.hash,
})
