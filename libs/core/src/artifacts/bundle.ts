/** The audit bundle: the one sealed document of a run, of which every other read is a projection. docs/formats.md section 9. */
import * as v from "valibot"
import type { OutcomeKind, ReceiptKey } from "../vocabulary/outcomes.ts"
import { GATES, OUTCOME_KINDS, RECEIPT_KEYS, STAGES } from "../vocabulary/outcomes.ts"
import type { TranscriptStep } from "../vocabulary/pipeline-path.ts"
import {
  clockSchema,
  countSchema,
  nonEmptySchema,
  ordinalSchema,
  regionSchema,
  routeIdSchema,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import {
  BUNDLE_KIND,
  FORMULA_VERSION,
  PRE_ANCHOR_LEAF_VERSIONS,
  RECEIPT_LEAF_VERSIONS,
} from "../vocabulary/versions.ts"
import type { Anchor, CompleteRecordLeaf, OutsideAnchors, PreAnchorLeaf, ReceiptLeaf } from "./anchor.ts"
import { completeRecordAnchorSchema, outsideAnchorsSchema, preAnchorSchema, receiptAnchorSchema } from "./anchor.ts"
import type { Manifest, PartialManifest } from "./manifest.ts"
import { manifestSchema, partialManifestSchema } from "./manifest.ts"
import type { AllowToken, Receipt, Receipts } from "./sealed-artifacts.ts"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "./sealed-artifacts.ts"
import { SECTION_SCHEMAS } from "./section-schemas.ts"
import type { Sections } from "./sections.ts"

export type RunFacts = {
  readonly run_id: number
  readonly outcome_kind: OutcomeKind
  readonly error_stage?: TranscriptStep
  readonly error_message?: string
  readonly tenant_id: string
  /** One immutable random salt per tenant; opens tenant_commitment. */
  readonly tenant_salt: string
  readonly program_id: string
  readonly route_id: string
  readonly execution_region: string
  readonly created_at: string
  /** Wall-clock microseconds from admission to seal. */
  readonly duration_us: number
  readonly formula_version: typeof FORMULA_VERSION
  readonly leaf_version?: PreAnchorLeaf["leaf_version"] | ReceiptLeaf["leaf_version"]
}

/** Logs besides the service's own that one record may be anchored in. */
export const MAX_OUTSIDE_LOGS = 8

export type Anchors = {
  readonly pre_anchor?: Anchor<PreAnchorLeaf>
  readonly receipt?: Anchor<ReceiptLeaf>
  readonly complete_record?: Anchor<CompleteRecordLeaf>
  /** The same leaves in other logs, one item each, by rising log id. They come after the record is sealed. */
  readonly outside?: readonly OutsideAnchors[]
}

export type Bundle = Partial<Receipts> & {
  readonly kind: typeof BUNDLE_KIND
  readonly run: RunFacts
  readonly sections: Sections
  readonly manifest?: Manifest
  readonly partial_manifest?: PartialManifest
  readonly allow_token?: AllowToken
  readonly anchors: Anchors
  readonly bundle_hash: string
}

/** A bundle before its own hash: what the hash is taken over, and all that most checks need. */
export type BundleBody = Omit<Bundle, "bundle_hash">

export const runFactsSchema: v.GenericSchema<unknown, RunFacts> = v.strictObject({
  run_id: ordinalSchema,
  outcome_kind: v.picklist(OUTCOME_KINDS),
  error_stage: v.exactOptional(v.picklist([...STAGES, ...GATES])),
  error_message: v.exactOptional(nonEmptySchema),
  tenant_id: tenantIdSchema,
  tenant_salt: sha256Schema,
  program_id: sha256Schema,
  route_id: routeIdSchema,
  execution_region: regionSchema,
  created_at: clockSchema,
  duration_us: countSchema,
  formula_version: v.literal(FORMULA_VERSION),
  leaf_version: v.exactOptional(v.picklist([...PRE_ANCHOR_LEAF_VERSIONS, ...RECEIPT_LEAF_VERSIONS])),
})

const opt = v.exactOptional
const sectionsSchema: v.GenericSchema<unknown, Sections> = v.strictObject({
  ...SECTION_SCHEMAS,
  envelope: opt(SECTION_SCHEMAS.envelope),
  transport: opt(SECTION_SCHEMAS.transport),
  epa: opt(SECTION_SCHEMAS.epa),
  efa: opt(SECTION_SCHEMAS.efa),
  aer: opt(SECTION_SCHEMAS.aer),
  transcript: opt(SECTION_SCHEMAS.transcript),
  hardware_attestation: opt(SECTION_SCHEMAS.hardware_attestation),
  leakage_bundle: opt(SECTION_SCHEMAS.leakage_bundle),
  zksp_binding: opt(SECTION_SCHEMAS.zksp_binding),
  migration_token: opt(SECTION_SCHEMAS.migration_token),
  replay_fingerprint: opt(SECTION_SCHEMAS.replay_fingerprint),
  pote_proof: opt(SECTION_SCHEMAS.pote_proof),
  registry: opt(SECTION_SCHEMAS.registry),
  final_vfa: opt(SECTION_SCHEMAS.final_vfa),
  policy_evaluation: opt(SECTION_SCHEMAS.policy_evaluation),
  budget_snapshot: opt(SECTION_SCHEMAS.budget_snapshot),
  governance_review: opt(SECTION_SCHEMAS.governance_review),
  mcd_finding: opt(SECTION_SCHEMAS.mcd_finding),
})

export const bundleSchema: v.GenericSchema<unknown, Bundle> = v.strictObject({
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
  anchors: v.strictObject({
    pre_anchor: opt(preAnchorSchema),
    receipt: opt(receiptAnchorSchema),
    complete_record: opt(completeRecordAnchorSchema),
    outside: opt(v.pipe(v.array(outsideAnchorsSchema), v.minLength(1), v.maxLength(MAX_OUTSIDE_LOGS))),
  }),
  bundle_hash: sha256Schema,
})

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
