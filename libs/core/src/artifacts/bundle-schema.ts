/** The audit bundle: the one document of a run, of which every other read is a projection, sealed and in full. docs/formats.md section 9. */

import { base64Schema } from "@runseal/log/entries/log-entry"
import { HASH_BYTES } from "@runseal/log/merkle/rfc6962"
import { MAX_NOTE_LENGTH } from "@runseal/log/notes/signed-note"
import * as v from "valibot"
import { GATES, OUTCOME_KINDS, RECEIPT_KEYS, type ReceiptKey, STAGES } from "../vocabulary/outcomes.ts"
import {
  clockSchema,
  countSchema,
  nonEmptySchema,
  ordinalSchema,
  regionSchema,
  routeIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import {
  BUNDLE_KIND,
  BUNDLE_VIEW_KIND,
  DERIVATIONS,
  FORMULA_VERSION,
  PRE_ANCHOR_LEAF_VERSIONS,
  RECEIPT_LEAF_VERSIONS,
} from "../vocabulary/versions.ts"
import {
  completeRecordAnchorSchema,
  outsideAnchorsSchema,
  preAnchorSchema,
  receiptAnchorSchema,
  sealedAnchors,
  sealedOutsideSchema,
} from "./anchor.ts"
import { derivedHashesSchema } from "./derived-sections.ts"
import { withheldKernelsSchema } from "./kernel-schemas.ts"
import { manifestSchema, partialManifestSchema } from "./manifest.ts"
import { allowTokenSchema, RECEIPT_SCHEMAS, type Receipt, type Receipts } from "./sealed-artifacts.ts"
import { sealedSectionsSchema } from "./sealed-sections.ts"
import { sectionsSchema } from "./sections.ts"

/** An RFC 6962 path in a tree of at most 2^53 − 1 leaves. */
const MAX_PATH_HASHES = 53
const pathSchema = v.pipe(v.array(base64Schema(HASH_BYTES, HASH_BYTES)), v.maxLength(MAX_PATH_HASHES))
/** What witnesses signed of the log after a record was sealed. */
export const witnessedSchema = v.strictObject({
  /** A signed note: the log's checkpoint with its own signature and those of witnesses. */
  checkpoint: v.pipe(nonEmptySchema, v.maxLength(MAX_NOTE_LENGTH)),
  pre_anchor: v.exactOptional(pathSchema),
  receipt: v.exactOptional(pathSchema),
  complete_record: v.exactOptional(pathSchema),
})
/** A later checkpoint of the service's own log that witnesses cosigned, with the path of each entry of the record to its root, base64. */
export type Witnessed = Shape<typeof witnessedSchema>

/** Logs besides the service's own that one record may be anchored in. */
export const MAX_OUTSIDE_LOGS = 8

const runFactsSchema = v.strictObject({
  run_id: ordinalSchema,
  outcome_kind: v.picklist(OUTCOME_KINDS),
  error_stage: v.exactOptional(v.picklist([...STAGES, ...GATES])),
  error_message: v.exactOptional(nonEmptySchema),
  tenant_id: tenantIdSchema,
  /** One immutable random salt per tenant; opens tenant_commitment. */
  tenant_salt: sha256Schema,
  program_id: sha256Schema,
  route_id: routeIdSchema,
  execution_region: regionSchema,
  created_at: clockSchema,
  /** Wall-clock microseconds from admission to seal. */
  duration_us: countSchema,
  formula_version: v.literal(FORMULA_VERSION),
  /** How the derived sections follow from the others. */
  derivation: v.picklist(DERIVATIONS),
  leaf_version: v.exactOptional(v.picklist([...PRE_ANCHOR_LEAF_VERSIONS, ...RECEIPT_LEAF_VERSIONS])),
})
export type RunFacts = Shape<typeof runFactsSchema>

const opt = v.exactOptional
const anchorsSchema = v.strictObject({
  pre_anchor: opt(preAnchorSchema),
  receipt: opt(receiptAnchorSchema),
  complete_record: opt(completeRecordAnchorSchema),
  /** The same leaves in other logs, one item each, by rising log id. They come after the record is sealed. */
  outside: opt(v.pipe(v.array(outsideAnchorsSchema), v.minLength(1), v.maxLength(MAX_OUTSIDE_LOGS))),
  /** What witnesses signed of the log since: only in a record that was asked for with it. */
  witnessed: opt(witnessedSchema),
})
export type Anchors = Shape<typeof anchorsSchema>

const sealedAnchorsSchema = v.strictObject({
  pre_anchor: opt(sealedAnchors.pre_anchor),
  receipt: opt(sealedAnchors.receipt),
  complete_record: opt(sealedAnchors.complete_record),
  outside: opt(v.pipe(v.array(sealedOutsideSchema), v.minLength(1), v.maxLength(MAX_OUTSIDE_LOGS))),
  witnessed: opt(witnessedSchema),
})

/** Results that were computed from withheld sections, since nobody can compute them again. */
const withheldResultsSchema = v.strictObject({
  /** Of exactly the kernels that read a withheld section. */
  kernels: withheldKernelsSchema,
  /** Scalars of exactly the withheld sections. */
  declared_values: v.strictObject({
    attested_context: opt(countSchema),
    request_substance: opt(countSchema),
    authorization_chain: opt(countSchema),
    regulatory_scaffolding: opt(countSchema),
    causal_graph: opt(countSchema),
    reproducibility_context: opt(countSchema),
    closing: opt(countSchema),
  }),
})
export type WithheldResults = Shape<typeof withheldResultsSchema>

/** The members that a record has in both forms. */
const members = {
  run: runFactsSchema,
  manifest: opt(manifestSchema),
  partial_manifest: opt(partialManifestSchema),
  allow_token: opt(allowTokenSchema),
  deny_receipt: opt(RECEIPT_SCHEMAS.deny_receipt),
  ccv_halt_receipt: opt(RECEIPT_SCHEMAS.ccv_halt_receipt),
  macc_halt_receipt: opt(RECEIPT_SCHEMAS.macc_halt_receipt),
  aivp_t4_halt_receipt: opt(RECEIPT_SCHEMAS.aivp_t4_halt_receipt),
  attestation_gap_receipt: opt(RECEIPT_SCHEMAS.attestation_gap_receipt),
  bundle_hash: sha256Schema,
}

/** A record as it is sealed, stored and served: nothing in it can be derived from the rest. */
export const sealedBundleSchema = v.strictObject({
  kind: v.literal(BUNDLE_KIND),
  ...members,
  sections: sealedSectionsSchema,
  /** Hashes of the derived sections; absent where the manifest has them. */
  derived: opt(derivedHashesSchema),
  withheld_results: opt(withheldResultsSchema),
  anchors: sealedAnchorsSchema,
})
export type SealedBundle = Shape<typeof sealedBundleSchema>

/** The full form of a record: with every derived section and every leaf. It follows from the sealed form and has no seal of its own. */
export const bundleSchema = v.strictObject({
  kind: v.literal(BUNDLE_VIEW_KIND),
  ...members,
  sections: sectionsSchema,
  anchors: anchorsSchema,
})
export type Bundle = Shape<typeof bundleSchema>

/** A record before its own hash. */
export type BundleBody = Omit<Bundle, "bundle_hash">
export type SealedBody = Omit<SealedBundle, "bundle_hash">

/** The receipt a bundle carries, with its key; undefined for ok and stage_error. */
export function receiptOf(
  bundle: Partial<Receipts>,
): { readonly key: ReceiptKey; readonly receipt: Receipt } | undefined {
  for (const key of RECEIPT_KEYS) {
    const receipt = bundle[key]
    if (receipt !== undefined) return { key, receipt }
  }
  return undefined
}

/** Wall-clock milliseconds of a run, rounded down. */
export const durationMs = ({ duration_us }: Pick<RunFacts, "duration_us">): number => Math.floor(duration_us / 1000)

/** The hash run lists show: of the manifest, the partial manifest or the gap receipt; "" for a stage_error. */
export const sealedHash = (bundle: BundleBody): string =>
  (bundle.manifest ?? bundle.partial_manifest)?.ManifestHash ?? receiptOf(bundle)?.receipt.hash ?? ""
