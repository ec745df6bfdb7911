/** The audit bundle: the one sealed document of a run, of which every other read is a projection. docs/formats.md section 9. */
import * as v from "valibot"
import type { ReceiptKey } from "../vocabulary/outcomes.ts"
import { GATES, OUTCOME_KINDS, RECEIPT_KEYS, STAGES } from "../vocabulary/outcomes.ts"
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
  FORMULA_VERSION,
  PRE_ANCHOR_LEAF_VERSIONS,
  RECEIPT_LEAF_VERSIONS,
} from "../vocabulary/versions.ts"
import { completeRecordAnchorSchema, outsideAnchorsSchema, preAnchorSchema, receiptAnchorSchema } from "./anchor.ts"
import { manifestSchema, partialManifestSchema } from "./manifest.ts"
import type { Receipt, Receipts } from "./sealed-artifacts.ts"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "./sealed-artifacts.ts"
import { sectionsSchema } from "./sections.ts"

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
})
export type Anchors = Shape<typeof anchorsSchema>

export const bundleSchema = v.strictObject({
  kind: v.literal(BUNDLE_KIND),
  run: runFactsSchema,
  sections: sectionsSchema,
  manifest: opt(manifestSchema),
  partial_manifest: opt(partialManifestSchema),
  allow_token: opt(allowTokenSchema),
  deny_receipt: opt(RECEIPT_SCHEMAS.deny_receipt),
  ccv_halt_receipt: opt(RECEIPT_SCHEMAS.ccv_halt_receipt),
  macc_halt_receipt: opt(RECEIPT_SCHEMAS.macc_halt_receipt),
  aivp_t4_halt_receipt: opt(RECEIPT_SCHEMAS.aivp_t4_halt_receipt),
  attestation_gap_receipt: opt(RECEIPT_SCHEMAS.attestation_gap_receipt),
  anchors: anchorsSchema,
  bundle_hash: sha256Schema,
})

export type Bundle = Shape<typeof bundleSchema>

/** A bundle before its own hash: what the hash is taken over, and all that most checks need. */
export type BundleBody = Omit<Bundle, "bundle_hash">

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
