/** Leaf preimages: what the service key signs and the log anchors. docs/formats.md section 7. */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import { canonicalize, canonicalUtf8, digest } from "@runseal/canonical"
import type {
  AttestationLeaf,
  CompleteRecordLeaf,
  ExportStatementLeaf,
  GenesisLeaf,
  KeyChangeLeaf,
  Leaf,
  PreAnchorLeaf,
  PreAnchorValues,
  ReceiptLeaf,
} from "../artifacts/anchor.ts"
import type { BundleBody, RunFacts } from "../artifacts/bundle-schema.ts"
import { receiptOf } from "../artifacts/bundle-schema.ts"
import type { AllowToken, Receipt } from "../artifacts/sealed-artifacts.ts"
import type { SectionName, Sections } from "../artifacts/sections.ts"
import type { Kernel } from "../vocabulary/outcomes.ts"
import { clockSeconds, LOG_TIME_TOLERANCE_SECONDS } from "../vocabulary/scalars.ts"
import type { PreAnchorLeafVersion, ReceiptLeafVersion } from "../vocabulary/versions.ts"
import { decisionClock } from "./moment.ts"

/** The exact bytes that the service key signs, as text. */
export const leafText = (leaf: Leaf): string => canonicalize(leaf)

/** The exact bytes that the service key signs. Nobody may change them. */
export const leafBytes = (leaf: Leaf, known?: KnownTexts): Uint8Array => known?.bytesOf(leaf) ?? canonicalUtf8(leaf)

/** Digest of a leaf; for a pre-anchor leaf this is the pre-anchor digest. */
export const leafDigest = (leaf: Leaf, known?: KnownTexts): string => digest(leaf, known)

/** The sections that leaf v5 names; a run without one of them has no pre-anchor leaf. */
const PRE_ANCHOR_SECTIONS = [
  "payload",
  "envelope",
  "transport",
  "epa",
  "efa",
  "aer",
  "transcript",
  "hardware_attestation",
  "leakage_bundle",
  "zksp_binding",
  "migration_token",
  "replay_fingerprint",
  "policy_evaluation",
  "governance_review",
  "system_provenance",
] as const satisfies readonly SectionName[]
export type PreAnchorSections = Sections & Required<Pick<Sections, (typeof PRE_ANCHOR_SECTIONS)[number]>>

const isWhole = (sections: Sections): sections is PreAnchorSections =>
  PRE_ANCHOR_SECTIONS.every(name => sections[name] !== undefined)

/** The sections of a run that has all those of a pre-anchor leaf; undefined for any other. */
export const preAnchorSections = (sections: Sections): PreAnchorSections | undefined =>
  isWhole(sections) ? sections : undefined

/** `<start>/<start + 600 s>`: the seconds in which a record decided at `clock` may be logged. */
export function anchoringWindow(clock: string): string {
  const start = clockSeconds(clock)
  if (start === undefined) throw new RangeError("a decision clock is RFC 3339 UTC with milliseconds")
  const end = new Date((start + LOG_TIME_TOLERANCE_SECONDS) * 1000).toISOString()
  return `${clock.slice(0, 19)}Z/${end.slice(0, 19)}Z`
}

function preAnchorValues(sections: PreAnchorSections, token: AllowToken): PreAnchorValues {
  const { envelope, efa } = sections
  const executionId = (kernel: Kernel): string =>
    efa.kernels.find(record => record.kernel === kernel)?.execution_id ?? ""
  return {
    envelope_id: envelope.envelope_id,
    envelope_hash: envelope.hash,
    sequence_id: sections.transport.sequence_id,
    transport_hash: sections.transport.hash,
    epa_hash: sections.epa.hash,
    efa_hash: efa.hash,
    execution_id_dse: executionId("DSE"),
    execution_id_tok: executionId("TOK"),
    execution_id_dsc: executionId("DSC"),
    execution_id_nrep: executionId("NREP"),
    execution_id_aivp: executionId("AIVP"),
    execution_id_dcae: executionId("DCAE"),
    aer_hash: sections.aer.hash,
    transcript_hash: sections.transcript.hash,
    hardware_attestation_hash: sections.hardware_attestation.hash,
    leakage_bundle_hash: sections.leakage_bundle.hash,
    formal_verifier_status: "TRACE_VERIFIED",
    zksp_binding_hash: sections.zksp_binding.hash,
    migration_token_hash: sections.migration_token.hash,
    replay_fingerprint: sections.replay_fingerprint.input_fingerprint,
    payload_hash: sections.payload.payload_hash,
    program_id: envelope.program_id,
    route_id: envelope.route_id,
    registry_record_hash: envelope.registry_record_hash,
    admission_clock: envelope.admission_clock,
    run_nonce: envelope.run_nonce,
    pepg_outcome: "allow",
    policy_hash: sections.policy_evaluation.policy_hash,
    allow_token_hash: token.hash,
    aivp_outcome: "release",
    aivp_review_hash: sections.governance_review.hash,
    declared_sections_hash: envelope.declared_sections_hash,
    system_provenance_hash: sections.system_provenance.hash,
  }
}

/** The pre-anchor leaf of an admitted run in any of its three versions. */
export function preAnchorLeaf(
  version: PreAnchorLeafVersion,
  sections: PreAnchorSections,
  token: AllowToken,
): PreAnchorLeaf {
  const values = preAnchorValues(sections, token)
  if (version === "vfa.leaf.v5") return { leaf_version: version, ...values }
  if (version === "vfa.leaf.v6") return { leaf_version: version, ...values, complete_record_anchor_required: true }
  const window = anchoringWindow(decisionClock(sections))
  return { leaf_version: version, ...values, complete_record_anchor_required: true, anchoring_window: window }
}

/** The leaf of a receipt; v2 binds the run number. */
export const receiptLeaf = (version: ReceiptLeafVersion, receipt: Receipt, runId: number): ReceiptLeaf => {
  const facts = { receipt_version: receipt.version, receipt_hash: receipt.hash }
  return version === "vfa.receipt_anchor.v1"
    ? { leaf_version: version, ...facts }
    : { leaf_version: version, ...facts, run_id: runId }
}

/** Which hash a complete-record leaf names beside the bundle's. */
type RecordSeal =
  | { readonly manifest_hash: string }
  | { readonly receipt_hash: string }
  | { readonly run_record_hash: string }

/** That of a record. */
export function recordSeal(record: Omit<BundleBody, "anchors">): RecordSeal {
  const receipt = receiptOf(record)?.receipt
  if (receipt !== undefined) return { receipt_hash: receipt.hash }
  if (record.manifest !== undefined) return { manifest_hash: record.manifest.ManifestHash }
  return { run_record_hash: runRecordHash(record.run, sectionHashes(record.sections)) }
}

export type ChainPlace = Pick<CompleteRecordLeaf, "tenant_commitment" | "tenant_ordinal" | "previous_record">

/** The leaf that anchors a whole record and its place in the tenant's chain. */
export const completeRecordLeaf = (
  runId: number,
  bundleHash: string,
  record: RecordSeal,
  place: ChainPlace,
): CompleteRecordLeaf => ({
  leaf_version: "vfa.complete_record.v1",
  run_id: runId,
  bundle_hash: bundleHash,
  ...record,
  ...place,
})

/** The hash that seals a run with neither manifest nor receipt. */
const runRecordHash = (run: RunFacts, sectionHashes: Readonly<Record<string, string>>): string =>
  digest({ kind: "vfa.run_record.v1", run, section_hashes: sectionHashes })

/** The leaf that anchors a digest for a caller. */
export const attestationLeaf = (facts: Omit<AttestationLeaf, "leaf_version">): AttestationLeaf => ({
  leaf_version: "vfa.attestation.v1",
  ...facts,
})

/** The leaf that states where a tenant's chain ends and which piece of it is exported. */
export const exportStatementLeaf = (facts: Omit<ExportStatementLeaf, "leaf_version">): ExportStatementLeaf => ({
  leaf_version: "vfa.export_statement.v2",
  ...facts,
})

/** Index 0 of an embedded log: fixes its origin, its birth and its first keys. */
export const genesisLeaf = (facts: Omit<GenesisLeaf, "leaf_version">): GenesisLeaf => ({
  leaf_version: "vfa.genesis.v1",
  ...facts,
})

/** The leaf that names the keys which the log goes on with. */
export const keyChangeLeaf = (facts: Omit<KeyChangeLeaf, "leaf_version">): KeyChangeLeaf => ({
  leaf_version: "vfa.key_change.v1",
  ...facts,
})

/** Hash of every section, by name. */
export function sectionHashes(sections: Readonly<Record<string, JsonObject | undefined>>): Record<string, string> {
  const hashes: Record<string, string> = {}
  for (const [name, section] of Object.entries(sections)) {
    if (typeof section?.hash === "string") hashes[name] = section.hash
  }
  return hashes
}
