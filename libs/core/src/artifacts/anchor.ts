/**
 * Leaves and anchors. A leaf preimage is a flat canonical object whose JCS bytes the service key signs; an anchor is the
 * leaf together with its transparency-log entry. docs/formats.md sections 7 and 8.
 */
import * as v from "valibot"
import type { TiledLogEntry, TransparencyLogEntry } from "../transparency-log/log-entry.ts"
import { base64Schema, tiledLogEntrySchema, transparencyLogEntrySchema } from "../transparency-log/log-entry.ts"
import { MAX_TIMESTAMP_BYTES } from "../transparency-log/timestamp.ts"
import {
  clockSchema,
  countSchema,
  envelopeIdSchema,
  nonEmptySchema,
  ordinalSchema,
  sequenceIdSchema,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import { RECEIPT_LEAF_VERSIONS } from "../vocabulary/versions.ts"

/** The 33 values of leaf v5, before its version marker. */
export type PreAnchorValues = {
  readonly envelope_id: string
  readonly envelope_hash: string
  readonly sequence_id: string
  readonly transport_hash: string
  readonly epa_hash: string
  readonly efa_hash: string
  readonly execution_id_dse: string
  readonly execution_id_tok: string
  readonly execution_id_dsc: string
  readonly execution_id_nrep: string
  readonly execution_id_aivp: string
  readonly execution_id_dcae: string
  readonly aer_hash: string
  readonly transcript_hash: string
  readonly hardware_attestation_hash: string
  readonly leakage_bundle_hash: string
  readonly formal_verifier_status: "TRACE_VERIFIED"
  readonly zksp_binding_hash: string
  readonly migration_token_hash: string
  readonly replay_fingerprint: string
  readonly payload_hash: string
  readonly program_id: string
  readonly route_id: string
  readonly registry_record_hash: string
  readonly admission_clock: string
  readonly run_nonce: string
  readonly pepg_outcome: "allow"
  readonly policy_hash: string
  readonly allow_token_hash: string
  readonly aivp_outcome: "release"
  readonly aivp_review_hash: string
  readonly declared_sections_hash: string
  readonly system_provenance_hash: string
}
export type LeafV5 = PreAnchorValues & { readonly leaf_version: "vfa.leaf.v5" }
export type LeafV6 = PreAnchorValues & {
  readonly leaf_version: "vfa.leaf.v6"
  readonly complete_record_anchor_required: true
}
export type LeafV7 = PreAnchorValues & {
  readonly leaf_version: "vfa.leaf.v7"
  readonly complete_record_anchor_required: true
  /** `<start>/<start + 600 s>`, both to the second. */
  readonly anchoring_window: string
}
export type PreAnchorLeaf = LeafV5 | LeafV6 | LeafV7

export type ReceiptLeaf =
  | { readonly leaf_version: "vfa.receipt_anchor.v1"; readonly receipt_version: string; readonly receipt_hash: string }
  | {
      readonly leaf_version: "vfa.receipt_anchor.v2"
      readonly receipt_version: string
      readonly receipt_hash: string
      readonly run_id: number
    }

/** Anchors one whole record in its tenant's chain. Exactly one of the three record hashes stands. */
export type CompleteRecordLeaf = {
  readonly leaf_version: "vfa.complete_record.v1"
  readonly run_id: number
  readonly bundle_hash: string
  readonly manifest_hash?: string
  readonly receipt_hash?: string
  readonly run_record_hash?: string
  readonly tenant_commitment: string
  /** 1, 2, 3 … within the tenant, without a gap. */
  readonly tenant_ordinal: number
  /** Digest of the tenant's previous complete-record leaf; 64 zeros for the first. */
  readonly previous_record: string
}

export type AttestationLeaf = {
  readonly leaf_version: "vfa.attestation.v1"
  readonly digest: string
  readonly algorithm: "sha256"
  readonly subject_ref?: string
  readonly attestation_id: string
}

/**
 * What the service states of a tenant's chain when it exports records: where the chain ends, and which piece of it is
 * exported. The four facts of the piece stand together, or none of them when no record is in it.
 */
export type ExportStatementLeaf = {
  readonly leaf_version: "vfa.export_statement.v1"
  readonly tenant_commitment: string
  /** When the export was asked for. */
  readonly export_clock: string
  /** Records of the chain as of this log entry. */
  readonly head_ordinal: number
  /** Digest of the last one's complete-record leaf; 64 zeros when there is none. */
  readonly head: string
  /** Admitted at or after, as asked; absent: since ever. */
  readonly from?: string
  /** Admitted at or before, as asked; absent: until now. */
  readonly to?: string
  readonly first_ordinal?: number
  readonly last_ordinal?: number
  /** What the first exported record names as its predecessor. */
  readonly previous_record?: string
  /** Digest of the last exported record's complete-record leaf. */
  readonly last_record?: string
}

/** Index 0 of an embedded log: no user record ever sits there. */
export type GenesisLeaf = {
  readonly leaf_version: "vfa.genesis.v1"
  readonly origin: string
  readonly genesis_clock: string
  readonly service_key_id: string
  readonly log_key_id: string
  readonly checkpoint_key_id: string
}

/**
 * Which keys the log goes on with. The service key in force before signs it, so that from the genesis on each set of keys names the
 * next.
 */
export type KeyChangeLeaf = {
  readonly leaf_version: "vfa.key_change.v1"
  readonly origin: string
  readonly change_clock: string
  /** Digest of the key change before this one; of the genesis leaf for the first. */
  readonly previous_keys: string
  readonly service_key_id: string
  readonly log_key_id: string
  readonly checkpoint_key_id: string
}

export type Leaf =
  | PreAnchorLeaf
  | ReceiptLeaf
  | CompleteRecordLeaf
  | AttestationLeaf
  | ExportStatementLeaf
  | GenesisLeaf
  | KeyChangeLeaf

export type Anchor<L extends Leaf = Leaf> = { readonly leaf: L; readonly entry: TransparencyLogEntry }

/** An entry of a log that is not the service's own. */
export type OutsideEntry =
  | { readonly entry: TransparencyLogEntry }
  /** A log that signs no time, and base64 of the RFC 3161 TimeStampResp over the service's signature. */
  | { readonly entry: TiledLogEntry; readonly timestamp: string }

/** An anchor in a log that is not the service's own: the same leaf, digest, signature and key, entered there later. */
export type OutsideAnchor<L extends Leaf = Leaf> = OutsideEntry & {
  readonly leaf: L
  /** Stands exactly when that entry's time is not the record's: it shows that the leaf was there at its own time, no earlier. */
  readonly late?: true
}

const preAnchorValues = {
  envelope_id: envelopeIdSchema,
  envelope_hash: sha256Schema,
  sequence_id: sequenceIdSchema,
  transport_hash: sha256Schema,
  epa_hash: sha256Schema,
  efa_hash: sha256Schema,
  execution_id_dse: sha256Schema,
  execution_id_tok: sha256Schema,
  execution_id_dsc: sha256Schema,
  execution_id_nrep: sha256Schema,
  execution_id_aivp: sha256Schema,
  execution_id_dcae: sha256Schema,
  aer_hash: sha256Schema,
  transcript_hash: sha256Schema,
  hardware_attestation_hash: sha256Schema,
  leakage_bundle_hash: sha256Schema,
  formal_verifier_status: v.literal("TRACE_VERIFIED"),
  zksp_binding_hash: sha256Schema,
  migration_token_hash: sha256Schema,
  replay_fingerprint: sha256Schema,
  payload_hash: sha256Schema,
  program_id: sha256Schema,
  route_id: nonEmptySchema,
  registry_record_hash: sha256Schema,
  admission_clock: clockSchema,
  run_nonce: sha256Schema,
  pepg_outcome: v.literal("allow"),
  policy_hash: sha256Schema,
  allow_token_hash: sha256Schema,
  aivp_outcome: v.literal("release"),
  aivp_review_hash: sha256Schema,
  declared_sections_hash: sha256Schema,
  system_provenance_hash: sha256Schema,
}
const required = { complete_record_anchor_required: v.literal(true) }

export const preAnchorLeafSchema: v.GenericSchema<unknown, PreAnchorLeaf> = v.variant("leaf_version", [
  v.strictObject({ leaf_version: v.literal("vfa.leaf.v5"), ...preAnchorValues }),
  v.strictObject({ leaf_version: v.literal("vfa.leaf.v6"), ...preAnchorValues, ...required }),
  v.strictObject({
    leaf_version: v.literal("vfa.leaf.v7"),
    ...preAnchorValues,
    ...required,
    anchoring_window: nonEmptySchema,
  }),
])

const receiptLeaf = { receipt_version: nonEmptySchema, receipt_hash: sha256Schema }
export const receiptLeafSchema: v.GenericSchema<unknown, ReceiptLeaf> = v.variant("leaf_version", [
  v.strictObject({ leaf_version: v.literal(RECEIPT_LEAF_VERSIONS[0]), ...receiptLeaf }),
  v.strictObject({ leaf_version: v.literal(RECEIPT_LEAF_VERSIONS[1]), ...receiptLeaf, run_id: ordinalSchema }),
])

export const completeRecordLeafSchema: v.GenericSchema<unknown, CompleteRecordLeaf> = v.strictObject({
  leaf_version: v.literal("vfa.complete_record.v1"),
  run_id: ordinalSchema,
  bundle_hash: sha256Schema,
  manifest_hash: v.exactOptional(sha256Schema),
  receipt_hash: v.exactOptional(sha256Schema),
  run_record_hash: v.exactOptional(sha256Schema),
  tenant_commitment: sha256Schema,
  tenant_ordinal: ordinalSchema,
  previous_record: sha256Schema,
})

/** Longest subject reference of an attestation, in UTF-16 units. */
export const SUBJECT_REF_MAX_LENGTH = 512
export const attestationLeafSchema: v.GenericSchema<unknown, AttestationLeaf> = v.strictObject({
  leaf_version: v.literal("vfa.attestation.v1"),
  digest: sha256Schema,
  algorithm: v.literal("sha256"),
  subject_ref: v.exactOptional(v.pipe(v.string(), v.maxLength(SUBJECT_REF_MAX_LENGTH))),
  attestation_id: nonEmptySchema,
})

export const exportStatementLeafSchema: v.GenericSchema<unknown, ExportStatementLeaf> = v.strictObject({
  leaf_version: v.literal("vfa.export_statement.v1"),
  tenant_commitment: sha256Schema,
  export_clock: clockSchema,
  head_ordinal: countSchema,
  head: sha256Schema,
  from: v.exactOptional(clockSchema),
  to: v.exactOptional(clockSchema),
  first_ordinal: v.exactOptional(ordinalSchema),
  last_ordinal: v.exactOptional(ordinalSchema),
  previous_record: v.exactOptional(sha256Schema),
  last_record: v.exactOptional(sha256Schema),
})

const anchorOf = <L extends Leaf>(leaf: v.GenericSchema<unknown, L>): v.GenericSchema<unknown, Anchor<L>> =>
  v.strictObject({ leaf, entry: transparencyLogEntrySchema })

export const preAnchorSchema: v.GenericSchema<unknown, Anchor<PreAnchorLeaf>> = anchorOf(preAnchorLeafSchema)
export const receiptAnchorSchema: v.GenericSchema<unknown, Anchor<ReceiptLeaf>> = anchorOf(receiptLeafSchema)
/** A receipt anchor as a receipt endpoint serves it: `version` repeats the leaf's. */
export type ServedReceiptAnchor = Anchor<ReceiptLeaf> & { readonly version: string }
export const servedReceiptAnchorSchema: v.GenericSchema<unknown, ServedReceiptAnchor> = v.strictObject({
  version: nonEmptySchema,
  leaf: receiptLeafSchema,
  entry: transparencyLogEntrySchema,
})
export const completeRecordAnchorSchema: v.GenericSchema<unknown, Anchor<CompleteRecordLeaf>> = anchorOf(
  completeRecordLeafSchema,
)

const late = v.exactOptional(v.literal(true))
const timestampSchema = base64Schema(1, MAX_TIMESTAMP_BYTES)
const outsideOf = <L extends Leaf>(leaf: v.GenericSchema<unknown, L>): v.GenericSchema<unknown, OutsideAnchor<L>> =>
  v.union([
    v.strictObject({ leaf, entry: transparencyLogEntrySchema, late }),
    v.strictObject({ leaf, entry: tiledLogEntrySchema, timestamp: timestampSchema, late }),
  ])

/** The anchors of one record in one outside log. */
export type OutsideAnchors = {
  readonly pre_anchor?: OutsideAnchor<PreAnchorLeaf>
  readonly receipt?: OutsideAnchor<ReceiptLeaf>
  readonly complete_record?: OutsideAnchor<CompleteRecordLeaf>
}
export const outsideAnchorsSchema: v.GenericSchema<unknown, OutsideAnchors> = v.strictObject({
  pre_anchor: v.exactOptional(outsideOf(preAnchorLeafSchema)),
  receipt: v.exactOptional(outsideOf(receiptLeafSchema)),
  complete_record: v.exactOptional(outsideOf(completeRecordLeafSchema)),
})
