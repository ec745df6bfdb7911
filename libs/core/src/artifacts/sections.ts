/**
 * The sections a bundle is made of. A section is `{kind, …, hash}`; its hash covers everything else in it.
 * What each field holds and what recomputes it: docs/formats.md sections 2 to 5.
 */
import type { JsonObject } from "@runseal/canonical"
import type { PepgReasonCode } from "../vocabulary/decision-codes.ts"
import type { FindingCode } from "../vocabulary/kernel-findings.ts"
import type { Kernel } from "../vocabulary/outcomes.ts"
import type { StepResult, TranscriptStep } from "../vocabulary/pipeline-path.ts"
import type { ReviewAdapter, ReviewDecision, ReviewReasonCode } from "../vocabulary/review-codes.ts"
import type { LEDGER_BACKEND } from "../vocabulary/versions.ts"
import type { DeclaredSections } from "./declared-sections.ts"
import type { McdFinding } from "./sealed-artifacts.ts"

export type PayloadSection = {
  readonly kind: "vfa.payload.v1"
  /** SHA-256 over the payload's UTF-8 bytes; the payload itself is kept nowhere. */
  readonly payload_hash: string
  readonly payload_bytes: number
  readonly ai_output_hash?: string
  readonly ai_output_bytes?: number
  readonly hash: string
}

export type EnvelopeSection = {
  readonly kind: "vfa.envelope.v1"
  readonly envelope_id: string
  readonly program_id: string
  readonly route_id: string
  readonly registry_record_hash: string
  readonly payload_hash: string
  readonly tenant_id: string
  readonly execution_region: string
  readonly admission_clock: string
  readonly run_nonce: string
  readonly declared_sections_hash: string
  readonly hash: string
}

export type TransportSection = {
  readonly kind: "vfa.transport.v1"
  readonly sequence_id: string
  readonly envelope_id: string
  readonly envelope_hash: string
  readonly channel: "http"
  readonly hash: string
}

/** Execution policy attestation: the authorisation under which the kernels ran. */
export type EpaSection = {
  readonly kind: "vfa.epa.v1"
  readonly envelope_hash: string
  readonly transport_hash: string
  readonly policy_hash: string
  readonly evaluation_hash: string
  readonly allow_token_hash: string
  readonly hash: string
}

export type KernelFinding = { readonly code: FindingCode; readonly count: number }

export type KernelRecord = {
  readonly kernel: Kernel
  readonly kernel_version: string
  readonly input_hash: string
  readonly output: JsonObject
  readonly findings: readonly KernelFinding[]
  readonly output_hash: string
  readonly execution_id: string
}

/** Execution facts attestation: what the six kernels computed. */
export type EfaSection = {
  readonly kind: "vfa.efa.v1"
  readonly envelope_id: string
  readonly epa_hash: string
  readonly leakage_bundle_hash: string
  readonly kernels: readonly KernelRecord[]
  readonly hash: string
}

/** What the record itself discloses: how each text of the caller was kept. */
export type LeakageBundleSection = {
  readonly kind: "vfa.leakage_bundle.v1"
  readonly envelope_id: string
  readonly payload: "hash_only"
  readonly ai_output: "hash_only" | "absent"
  /** Scalars sealed in clear per declared section; absent sections count zero. */
  readonly declared_values: Readonly<Record<keyof DeclaredSections, number>>
  readonly hash: string
}

export type AerSection = {
  readonly kind: "vfa.aer.v1"
  readonly envelope_hash: string
  readonly transport_hash: string
  readonly epa_hash: string
  readonly efa_hash: string
  readonly leakage_bundle_hash: string
  readonly execution_ids: readonly string[]
  readonly allow_token_hash: string
  readonly budget_snapshot_hash: string
  readonly governance_review_hash: string
  readonly hash: string
}

export type HardwareAttestationSection = {
  readonly kind: "vfa.hardware_attestation.v1"
  readonly envelope_id: string
  readonly mode: "software"
  readonly disclosure: string
  readonly hash: string
}

export type ZkspBindingSection = {
  readonly kind: "vfa.zksp_binding.v1"
  readonly mode: "hash_commitment"
  readonly disclosure: string
  readonly aer_hash: string
  readonly payload_hash: string
  readonly hardware_attestation_hash: string
  readonly hash: string
}

export type MigrationTokenSection = {
  readonly kind: "vfa.migration_token.v1"
  readonly envelope_id: string
  readonly tenant_id: string
  readonly execution_region: string
  readonly aer_hash: string
  readonly zksp_binding_hash: string
  readonly hash: string
}

export type ReplayFingerprintSection = {
  readonly kind: "vfa.replay_fingerprint.v1"
  readonly envelope_id: string
  /** Equal for two runs of the same program, route, registry record, payload, AI output, policy and kernels. */
  readonly input_fingerprint: string
  readonly aer_hash: string
  readonly hash: string
}

export type TranscriptEvent = {
  readonly step: TranscriptStep
  readonly result: StepResult
  /** Digest of the event before; 64 zeros for the first. */
  readonly input_hash: string
  /** Digest of the names and hashes of what the step produced. */
  readonly output_hash: string
}

export type TranscriptSection = {
  readonly kind: "vfa.transcript.v1"
  readonly envelope_id: string
  readonly events: readonly TranscriptEvent[]
  readonly hash: string
}

export type PoteProofSection = {
  readonly kind: "vfa.pote_proof.v1"
  readonly leaf_hash: string
  readonly entry_hash: string
  readonly log_id: string
  readonly log_index: string
  readonly integrated_time: string
  readonly hash: string
}

export type RegistryArtifact = { readonly name: string; readonly hash: string }
export type RegistrySection = {
  readonly kind: "vfa.registry.v1"
  readonly envelope_id: string
  /** Sorted by name. */
  readonly artifacts: readonly RegistryArtifact[]
  readonly hash: string
}

export type FinalVfaSection = {
  readonly kind: "vfa.final_vfa.v1"
  readonly envelope_id: string
  readonly section_hashes: Readonly<Record<string, string>>
  readonly registry_hash: string
  readonly declared_sections_hash: string
  readonly hash: string
}

export type SystemProvenanceSection = {
  readonly kind: "vfa.system_provenance.v1"
  readonly service: string
  readonly service_version: string
  readonly orchestrator_version: string
  readonly source_revision: string
  readonly runtime: "node"
  readonly runtime_version: string
  readonly platform: string
  readonly ledger_backend: typeof LEDGER_BACKEND
  readonly mode: "software"
  readonly disclosure: string
  readonly hash: string
}

export type PolicyEvaluationSection = {
  readonly kind: "vfa.policy_evaluation.v1"
  readonly envelope_id: string
  readonly policy_id: string
  readonly policy_name: string
  readonly profile_tag?: string
  readonly policy_hash: string
  readonly decision: "allow" | "deny"
  readonly fired_rule_id: string
  readonly decision_reason_code: PepgReasonCode
  readonly matched_rule_ids: readonly string[]
  readonly signature_library_hash: string
  readonly mcd_finding_hash?: string
  readonly evaluation_clock: string
  readonly evaluator_version: string
  readonly hash: string
}

export type BudgetWindow = {
  readonly charge_id: string
  readonly cap: number
  readonly window_seconds: number
  readonly window_start: string
  readonly tokens: number
  readonly total_after: number
}

export type BudgetSnapshotSection = {
  readonly kind: "vfa.budget_snapshot.v1"
  readonly envelope_id: string
  readonly tenant_id: string
  readonly run_limit: number
  readonly declared_tokens: number
  /** Absent when the per-run budget halted the run: nothing was charged then. */
  readonly window?: BudgetWindow
  readonly hash: string
}

export type GovernanceReviewSection = {
  readonly kind: "vfa.governance_review.v1"
  readonly envelope_id: string
  readonly adapter_id: ReviewAdapter
  readonly model?: string
  readonly ai_output_hash?: string
  readonly decision_kind: ReviewDecision
  /** A closed code; a reviewer's prose is never kept. */
  readonly decision_reason: ReviewReasonCode
  readonly rule_ids: readonly string[]
  readonly finding_count: number
  readonly review_clock: string
  readonly evaluator_version: string
  readonly hash: string
}

export type Sections = DeclaredSections & {
  readonly payload: PayloadSection
  readonly system_provenance: SystemProvenanceSection
  /** Envelope and transport are absent only from a stage_error that failed there. */
  readonly envelope?: EnvelopeSection
  readonly transport?: TransportSection
  readonly epa?: EpaSection
  readonly efa?: EfaSection
  readonly aer?: AerSection
  readonly transcript?: TranscriptSection
  readonly hardware_attestation?: HardwareAttestationSection
  readonly leakage_bundle?: LeakageBundleSection
  readonly zksp_binding?: ZkspBindingSection
  readonly migration_token?: MigrationTokenSection
  readonly replay_fingerprint?: ReplayFingerprintSection
  readonly pote_proof?: PoteProofSection
  readonly registry?: RegistrySection
  readonly final_vfa?: FinalVfaSection
  readonly policy_evaluation?: PolicyEvaluationSection
  readonly budget_snapshot?: BudgetSnapshotSection
  readonly governance_review?: GovernanceReviewSection
  readonly mcd_finding?: McdFinding
}
export type SectionName = keyof Sections
