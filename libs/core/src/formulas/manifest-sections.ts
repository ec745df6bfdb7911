/** Stages 7–9: proof of entry, registry, final seal, manifest and bundle. docs/formats.md sections 5, 6 and 9. */
import { canonicalize, decodeBase64, digest, encodeHex, type JsonObject, type KnownTexts } from "@runseal/canonical"
import { hashLeaf } from "@runseal/log/merkle/rfc6962"
import type { Anchor, PreAnchorLeaf } from "../artifacts/anchor.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { Manifest, PartialManifest } from "../artifacts/manifest.ts"
import type { AllowToken, Receipt } from "../artifacts/sealed-artifacts.ts"
import type {
  EnvelopeSection,
  FinalVfaSection,
  PoteProofSection,
  RegistrySection,
  Sections,
} from "../artifacts/sections.ts"
import type { Kernel, OutcomeMarker } from "../vocabulary/outcomes.ts"
import { FORMULA_VERSION } from "../vocabulary/versions.ts"
import type { PreAnchorSections } from "./leaves.ts"
import { leafDigest, sectionHashes } from "./leaves.ts"
import type { Unsealed } from "./seal.ts"

/** Stage 7, LEDGER: proof that the pre-anchor leaf was taken into the log. What is no base64 counts as no bytes. */
export function poteProofSection(
  { leaf, entry }: Anchor<PreAnchorLeaf>,
  known?: KnownTexts,
): Unsealed<PoteProofSection> {
  const bytes = (base64: string): Uint8Array => decodeBase64(base64) ?? new Uint8Array()
  return {
    kind: "vfa.pote_proof.v1",
    leaf_hash: leafDigest(leaf, known),
    entry_hash: encodeHex(hashLeaf(bytes(entry.canonicalizedBody))),
    log_id: encodeHex(bytes(entry.logId.keyId)),
    log_index: entry.logIndex,
    integrated_time: entry.integratedTime,
  }
}

/** Stage 8, REGISTRY: name and hash of every artifact that exists before it. */
export function registrySection(
  envelope: EnvelopeSection,
  sections: Sections,
  token: AllowToken,
): Unsealed<RegistrySection> {
  const { registry: _registry, final_vfa: _final, ...existing } = sections
  const hashes: Record<string, string> = { ...sectionHashes(existing), allow_token: token.hash }
  const artifacts = Object.keys(hashes)
    .sort()
    .map(name => ({ name, hash: hashes[name] ?? "" }))
  return { kind: "vfa.registry.v1", envelope_id: envelope.envelope_id, artifacts }
}

/** Stage 9, DLA: one hash over the registry, which lists every other section. */
export const finalVfaSection = (envelope: EnvelopeSection, registry: RegistrySection): Unsealed<FinalVfaSection> => ({
  kind: "vfa.final_vfa.v2",
  envelope_id: envelope.envelope_id,
  registry_hash: registry.hash,
  declared_sections_hash: envelope.declared_sections_hash,
})

const text = (value: unknown): string => (typeof value === "string" ? value : "")
const kernelOutput = (sections: PreAnchorSections, kernel: Kernel, field: string): string =>
  text(sections.efa.kernels.find(record => record.kernel === kernel)?.output[field])

export type SealedSections = PreAnchorSections & Required<Pick<Sections, "pote_proof" | "registry" | "final_vfa">>

/** The execution manifest of an ok run. */
export function executionManifest(
  sections: SealedSections,
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

type PartialSections = Required<Pick<Sections, "envelope" | "transport" | "payload">> & Pick<Sections, "efa">

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
    PolicyHash: policyHash,
    ...(token === undefined ? {} : { AllowTokenHash: token.hash }),
    ...(efa === undefined ? {} : { ExecutionIDs: efa.kernels.map(r => r.execution_id), EfaHash: efa.hash }),
    [marker.field]: marker.value,
    ReceiptHash: receipt.hash,
    ExecutionRegion: sections.envelope.execution_region,
    FormulaVersion: FORMULA_VERSION,
  }
}

/** Everything but the bundle's own hash and the anchors that come after it, each section standing as its hash. */
function bundlePreimage(bundle: Omit<Bundle, "bundle_hash">): JsonObject {
  const { bundle_hash: _, anchors, sections, ...rest }: Omit<Bundle, "bundle_hash"> & { bundle_hash?: string } = bundle
  const { complete_record: _complete, outside: _outside, ...before } = anchors
  return { ...rest, sections: sectionHashes(sections), anchors: before }
}

/** What `bundle_hash` of a bundle must be. */
export const bundleHash = (bundle: Omit<Bundle, "bundle_hash">, known?: KnownTexts): string =>
  digest(bundlePreimage(bundle), known)

/** The text whose SHA-256 is the bundle's hash, for tools that hash files and know no bundle. */
export const bundlePreimageText = (bundle: Bundle): string => canonicalize(bundlePreimage(bundle))
