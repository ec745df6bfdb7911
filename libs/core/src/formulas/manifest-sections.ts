/** Manifest and bundle. docs/formats.md sections 6 and 9. */
import { canonicalize, digest, type JsonObject, type KnownTexts } from "@runseal/canonical"
import type { SealedBody, SealedBundle } from "../artifacts/bundle-schema.ts"
import type { Manifest, PartialManifest } from "../artifacts/manifest.ts"
import type { AllowToken, Receipt } from "../artifacts/sealed-artifacts.ts"
import type { Sections } from "../artifacts/sections.ts"
import type { Kernel, OutcomeMarker } from "../vocabulary/outcomes.ts"
import { FORMULA_VERSION } from "../vocabulary/versions.ts"
import type { PreAnchorSections } from "./leaves.ts"
import { sectionHashes } from "./leaves.ts"
import type { Unsealed } from "./seal.ts"

const text = (value: unknown): string => (typeof value === "string" ? value : "")
const kernelOutput = (sections: PreAnchorSections, kernel: Kernel, field: string): string =>
  text(sections.efa.kernels.find(record => record.kernel === kernel)?.output[field])

/** What the manifests of a close name beside those of any other run. */
const closeHashes = ({
  permit,
  closing,
}: Pick<Sections, "permit" | "closing">): Pick<Manifest, "PermitHash" | "ClosingHash"> => ({
  ...(permit === undefined ? {} : { PermitHash: permit.hash }),
  ...(closing === undefined ? {} : { ClosingHash: closing.hash }),
})

/** All sections of a completed run. */
export type CompletedSections = PreAnchorSections & Required<Pick<Sections, "pote_proof" | "registry" | "final_vfa">>

/** The execution manifest of an ok run. */
export function executionManifest(
  sections: CompletedSections,
  token: AllowToken,
  independentVerified: boolean,
): Unsealed<Manifest, "ManifestHash"> {
  const { envelope, efa, governance_review: review, pote_proof: pote } = sections
  return {
    EnvelopeID: envelope.envelope_id,
    EnvelopeHash: envelope.hash,
    SequenceID: sections.transport.sequence_id,
    TransportHash: sections.transport.hash,
    EpaHash: sections.epa.hash,
    EfaHash: efa.hash,
    ExecutionIDs: efa.kernels.map(record => record.execution_id),
    AerHash: sections.aer.hash,
    TranscriptHash: sections.transcript.hash,
    HardwareAttestationHash: sections.hardware_attestation.hash,
    LeakageBundleHash: sections.leakage_bundle.hash,
    FormalVerifierStatus: "TRACE_VERIFIED",
    ZkspBindingHash: sections.zksp_binding.hash,
    MigrationTokenHash: sections.migration_token.hash,
    ReplayFingerprint: sections.replay_fingerprint.input_fingerprint,
    PoteProofHash: pote.hash,
    LogEntryID: pote.log_index,
    RegistryArtifactCount: sections.registry.artifacts.length,
    FinalVfaHash: sections.final_vfa.hash,
    IndependentVerified: independentVerified,
    DseCommitmentHash: kernelOutput(sections, "DSE", "state_commitment"),
    TokOrderingHash: kernelOutput(sections, "TOK", "ordering_hash"),
    DscFinalStateHash: kernelOutput(sections, "DSC", "final_state_hash"),
    PayloadHash: sections.payload.payload_hash,
    ...closeHashes(sections),
    PolicyHash: sections.policy_evaluation.policy_hash,
    AllowTokenHash: token.hash,
    AivpOutcome: "release",
    AivpReviewHash: review.hash,
    AivpAdapterID: review.adapter_id,
    ...(sections.payload.ai_output_hash === undefined ? {} : { AivpAiOutputHash: sections.payload.ai_output_hash }),
    ExecutionRegion: envelope.execution_region,
    LedgerBackend: sections.system_provenance.ledger_backend,
    LedgerLogID: pote.log_id,
    LedgerLeafHash: pote.leaf_hash,
    FormulaVersion: FORMULA_VERSION,
  }
}

type PartialSections = Required<Pick<Sections, "envelope" | "transport" | "payload">> &
  Pick<Sections, "efa" | "permit" | "closing">

/** The partial manifest of a denied or halted run. */
export function partialManifest(
  sections: PartialSections,
  policyHash: string,
  marker: OutcomeMarker,
  receipt: Receipt,
  token: AllowToken | undefined,
): Unsealed<PartialManifest, "ManifestHash"> {
  const { efa } = sections
  return {
    EnvelopeID: sections.envelope.envelope_id,
    EnvelopeHash: sections.envelope.hash,
    SequenceID: sections.transport.sequence_id,
    TransportHash: sections.transport.hash,
    PayloadHash: sections.payload.payload_hash,
    ...closeHashes(sections),
    PolicyHash: policyHash,
    ...(token === undefined ? {} : { AllowTokenHash: token.hash }),
    ...(efa === undefined ? {} : { ExecutionIDs: efa.kernels.map(r => r.execution_id), EfaHash: efa.hash }),
    [marker.field]: marker.value,
    ReceiptHash: receipt.hash,
    ExecutionRegion: sections.envelope.execution_region,
    FormulaVersion: FORMULA_VERSION,
  }
}

/** Everything but the bundle's own hash, the anchors that come after it and the results of withheld sections; each section is its hash. */
function bundlePreimage(bundle: SealedBody): JsonObject {
  const { bundle_hash: _hash, withheld_results: _withheld, anchors, sections, ...rest }: Partial<SealedBundle> = bundle
  const { pre_anchor, receipt }: SealedBundle["anchors"] = anchors ?? {}
  const before = { ...(pre_anchor && { pre_anchor }), ...(receipt && { receipt }) }
  return { ...rest, sections: sectionHashes(sections ?? {}), anchors: before }
}

/** What `bundle_hash` of a sealed bundle must be. */
export const bundleHash = (bundle: SealedBody, known?: KnownTexts): string => digest(bundlePreimage(bundle), known)

/** The text whose SHA-256 is the bundle's hash, for tools that hash files and know no bundle. */
export const bundlePreimageText = (bundle: SealedBody): string => canonicalize(bundlePreimage(bundle))
