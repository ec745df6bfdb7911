/**
 * Leaves and anchors. A leaf preimage is a flat canonical object whose JCS bytes the service key signs; an anchor is the
 * leaf together with its transparency-log entry. docs/formats.md sections 7 and 8.
 */

import type { TiledLogEntry, TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import { base64Schema, tiledLogEntrySchema, transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import { MAX_TIMESTAMP_BYTES } from "@runseal/log/timestamps/timestamp"
import * as v from "valibot"
import {
  clockSchema,
  countSchema,
  envelopeIdSchema,
  nonEmptySchema,
  ordinalSchema,
  permitIdSchema,
  routeIdSchema,
  type Shape,
  sequenceIdSchema,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import {
  ATTESTATION_LEAF_VERSION,
  COMPLETE_RECORD_LEAF_VERSION,
  EXPORT_STATEMENT_LEAF_VERSION,
  GENESIS_LEAF_VERSION,
  KEY_CHANGE_LEAF_VERSION,
  PRE_ANCHOR_LEAF_VERSIONS,
  RECEIPT_LEAF_VERSIONS,
  REDEMPTION_LEAF_VERSION,
} from "../vocabulary/versions.ts"

/** The 33 values of leaf v5, before its version marker. */
const preAnchorValuesSchema = v.strictObject({
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
  route_id: routeIdSchema,
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
})
export type PreAnchorValues = Shape<typeof preAnchorValuesSchema>

const preAnchorValues = preAnchorValuesSchema.entries
const required = { complete_record_anchor_required: v.literal(true) }

const preAnchorLeafShape = v.variant("leaf_version", [
  v.strictObject({ leaf_version: v.literal("vfa.leaf.v5"), ...preAnchorValues }),
  v.strictObject({ leaf_version: v.literal("vfa.leaf.v6"), ...preAnchorValues, ...required }),
  v.strictObject({
    leaf_version: v.literal("vfa.leaf.v7"),
    ...preAnchorValues,
    ...required,
    /** `<start>/<start + 600 s>`, both to the second. */
    anchoring_window: nonEmptySchema,
  }),
])
export type PreAnchorLeaf = Shape<typeof preAnchorLeafShape>
const preAnchorLeafSchema: v.GenericSchema<unknown, PreAnchorLeaf> = preAnchorLeafShape

const receiptLeaf = { receipt_version: nonEmptySchema, receipt_hash: sha256Schema }
export const receiptLeafSchema = v.variant("leaf_version", [
  v.strictObject({ leaf_version: v.literal(RECEIPT_LEAF_VERSIONS[0]), ...receiptLeaf }),
  v.strictObject({ leaf_version: v.literal(RECEIPT_LEAF_VERSIONS[1]), ...receiptLeaf, run_id: ordinalSchema }),
])
export type ReceiptLeaf = Shape<typeof receiptLeafSchema>

/** The place of a document in its tenant's chain. */
export const chainPlace = {
  tenant_commitment: sha256Schema,
  /** 1, 2, 3 … within the tenant, without a gap. */
  tenant_ordinal: ordinalSchema,
  /** Digest of the leaf of the tenant's previous document: complete record, request for an approval, opening, end or event; 64 zeros for the first. */
  previous_record: sha256Schema,
}

export const completeRecordLeafSchema = v.strictObject({
  leaf_version: v.literal(COMPLETE_RECORD_LEAF_VERSION),
  run_id: ordinalSchema,
  bundle_hash: sha256Schema,
  manifest_hash: v.exactOptional(sha256Schema),
  receipt_hash: v.exactOptional(sha256Schema),
  run_record_hash: v.exactOptional(sha256Schema),
  ...chainPlace,
})
/** Anchors one whole record in its tenant's chain. It has exactly one of the three record hashes. */
export type CompleteRecordLeaf = Shape<typeof completeRecordLeafSchema>

export const redemptionLeafSchema = v.strictObject({
  leaf_version: v.literal(REDEMPTION_LEAF_VERSION),
  permit_id: permitIdSchema,
  redeemed_clock: clockSchema,
})
/** Anchors the redemption of a permit. It is a leaf alone: the document that closes or ends the permit has its entry. */
export type RedemptionLeaf = Shape<typeof redemptionLeafSchema>

const chainLeafSchema = v.object({ leaf_version: nonEmptySchema, ...chainPlace })
/** The members of every leaf that takes a place in a tenant's chain. Each kind of document has its own beside them. */
export type ChainLeaf = Shape<typeof chainLeafSchema>

/** Longest subject reference of an attestation, in UTF-16 units. */
export const SUBJECT_REF_MAX_LENGTH = 512
/** What an attestation says, in its leaf and beside it. */
export const attestationFacts = {
  digest: sha256Schema,
  algorithm: v.literal("sha256"),
  subject_ref: v.exactOptional(v.pipe(nonEmptySchema, v.maxLength(SUBJECT_REF_MAX_LENGTH))),
  attestation_id: v.pipe(v.string(), v.regex(/^att-[0-9a-f]{32}$/)),
}
export const attestationLeafSchema = v.strictObject({
  leaf_version: v.literal(ATTESTATION_LEAF_VERSION),
  ...attestationFacts,
})
export type AttestationLeaf = Shape<typeof attestationLeafSchema>

export const exportStatementLeafSchema = v.strictObject({
  leaf_version: v.literal(EXPORT_STATEMENT_LEAF_VERSION),
  tenant_commitment: sha256Schema,
  /** When the export was asked for. */
  export_clock: clockSchema,
  /** Documents of the chain as of this log entry, of every kind. */
  head_ordinal: countSchema,
  /** Digest of the last one's leaf; 64 zeros when there is none. */
  head: sha256Schema,
  /** Openings of the chain that had neither close nor end as of this log entry. */
  open_permits: countSchema,
  /** Digest of the statement's list of budget windows. */
  windows_hash: sha256Schema,
  /** Documents of the piece, by their kinds. */
  records: countSchema,
  openings: countSchema,
  ends: countSchema,
  /** Requests for an approval; absent where there are none. */
  requests: v.exactOptional(ordinalSchema),
  /** Of the deployment's own chain, which holds nothing else. */
  events: v.exactOptional(ordinalSchema),
  /** Admitted at or after, as asked; absent: since ever. */
  from: v.exactOptional(clockSchema),
  /** Admitted at or before, as asked; absent: until now. */
  to: v.exactOptional(clockSchema),
  first_ordinal: v.exactOptional(ordinalSchema),
  last_ordinal: v.exactOptional(ordinalSchema),
  /** What the first exported document names as its predecessor. */
  previous_record: v.exactOptional(sha256Schema),
  /** Digest of the last exported document's leaf. */
  last_record: v.exactOptional(sha256Schema),
})
/**
 * What the service states of a tenant's chain when it exports a piece of it: where the chain ends, which piece is exported, and how many
 * documents of each kind are in it. The four facts of the piece are all present, or all absent when the piece is empty.
 */
export type ExportStatementLeaf = Shape<typeof exportStatementLeafSchema>

/** The names of the counts in that leaf, in the order in which differences are reported. A document adds to one of them. */
export const COUNTS = ["records", "openings", "ends", "events", "requests"] as const
/** How many documents of each kind there are. */
export type Counts = { readonly [Name in (typeof COUNTS)[number]]: number }
export const NO_DOCUMENTS: Counts = { records: 0, openings: 0, ends: 0, events: 0, requests: 0 }

/** The counts of a leaf. */
export const countsOf = ({ records, openings, ends, events = 0, requests = 0 }: ExportStatementLeaf): Counts => ({
  ...{ records, openings, ends, events, requests },
})

/** Counts as a leaf states them: of the later two, none where it is 0. */
export const leafCounts = ({ records, openings, ends, events, requests }: Counts) => ({
  ...{ records, openings, ends },
  ...(events === 0 ? {} : { events }),
  ...(requests === 0 ? {} : { requests }),
})

/** How many documents are counted together. */
export const sumOf = (counts: Counts): number => COUNTS.reduce((sum, name) => sum + counts[name], 0)

const logKeys = { service_key_id: sha256Schema, log_key_id: sha256Schema, checkpoint_key_id: sha256Schema }

export const genesisLeafSchema = v.strictObject({
  leaf_version: v.literal(GENESIS_LEAF_VERSION),
  origin: nonEmptySchema,
  genesis_clock: clockSchema,
  ...logKeys,
})
/** Index 0 of an embedded log: no user record ever sits there. */
export type GenesisLeaf = Shape<typeof genesisLeafSchema>

export const keyChangeLeafSchema = v.strictObject({
  leaf_version: v.literal(KEY_CHANGE_LEAF_VERSION),
  origin: nonEmptySchema,
  change_clock: clockSchema,
  /** Digest of the key change before this one; of the genesis leaf for the first. */
  previous_keys: sha256Schema,
  ...logKeys,
})
/**
 * Which keys the log goes on with. The service key in force before signs it, so that from the genesis on each set of keys names the
 * next.
 */
export type KeyChangeLeaf = Shape<typeof keyChangeLeafSchema>

export type Leaf =
  | PreAnchorLeaf
  | ReceiptLeaf
  | CompleteRecordLeaf
  | ChainLeaf
  | RedemptionLeaf
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
  /** Present exactly when the log time of that entry is outside the record's window: the entry proves its own time, no earlier one. */
  readonly late?: true
}

const anchorOf = <const LeafSchema extends v.GenericSchema>(leaf: LeafSchema) =>
  v.strictObject({ leaf, entry: transparencyLogEntrySchema })

export const preAnchorSchema = anchorOf(preAnchorLeafSchema)
export const receiptAnchorSchema = anchorOf(receiptLeafSchema)
export const completeRecordAnchorSchema = anchorOf(completeRecordLeafSchema)
/** A receipt anchor as a receipt endpoint serves it: `version` repeats the leaf's. */
export const servedReceiptAnchorSchema = v.strictObject({ version: nonEmptySchema, ...receiptAnchorSchema.entries })
export type ServedReceiptAnchor = Shape<typeof servedReceiptAnchorSchema>

const late = v.exactOptional(v.literal(true))
const timestampSchema = base64Schema(1, MAX_TIMESTAMP_BYTES)
const outsideOf = <const LeafSchema extends v.GenericSchema>(leaf: LeafSchema) =>
  v.union([
    v.strictObject({ leaf, entry: transparencyLogEntrySchema, late }),
    v.strictObject({ leaf, entry: tiledLogEntrySchema, timestamp: timestampSchema, late }),
  ])

const outsideAnchorsShape = v.strictObject({
  pre_anchor: v.exactOptional(outsideOf(preAnchorLeafSchema)),
  receipt: v.exactOptional(outsideOf(receiptLeafSchema)),
  complete_record: v.exactOptional(outsideOf(completeRecordLeafSchema)),
})
/** The anchors of one record in one outside log. */
export type OutsideAnchors = Shape<typeof outsideAnchorsShape>
export const outsideAnchorsSchema: v.GenericSchema<unknown, OutsideAnchors> = outsideAnchorsShape

const completeRecordLeaf = completeRecordLeafSchema.entries
/**
 * The anchors of one record as they are sealed. Of a leaf they hold what the record does not give: its version and, of the complete-record
 * leaf, the place in the chain. An outside anchor is of the same leaf as the record's own.
 */
export const sealedAnchors = {
  pre_anchor: anchorOf(v.strictObject({ leaf_version: v.picklist(PRE_ANCHOR_LEAF_VERSIONS) })),
  receipt: anchorOf(v.strictObject({ leaf_version: v.picklist(RECEIPT_LEAF_VERSIONS) })),
  complete_record: anchorOf(
    v.strictObject({
      leaf_version: completeRecordLeaf.leaf_version,
      tenant_ordinal: completeRecordLeaf.tenant_ordinal,
      previous_record: completeRecordLeaf.previous_record,
    }),
  ),
}
const sealedOutsideShape = v.union([
  v.strictObject({ entry: transparencyLogEntrySchema, late }),
  v.strictObject({ entry: tiledLogEntrySchema, timestamp: timestampSchema, late }),
])
/** An outside anchor as it is sealed: without its leaf, which is that of the record's own anchor. */
export type SealedOutsideAnchor = OutsideEntry & { readonly late?: true }
const sealedOutsideAnchor: v.GenericSchema<unknown, SealedOutsideAnchor> = sealedOutsideShape
const sealedOutsideAnchors = v.strictObject({
  pre_anchor: v.exactOptional(sealedOutsideAnchor),
  receipt: v.exactOptional(sealedOutsideAnchor),
  complete_record: v.exactOptional(sealedOutsideAnchor),
})
export type SealedOutside = Shape<typeof sealedOutsideAnchors>
export const sealedOutsideSchema: v.GenericSchema<unknown, SealedOutside> = sealedOutsideAnchors
