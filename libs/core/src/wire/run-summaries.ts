/**
 * Answers of the run endpoints, as strict as this release writes them: a member that is not named here is a mistake of ours. A
 * reader that must survive later releases is more lenient. docs/api.md, "GET /runs", "GET /runs/{id}" and "GET /runs/{id}/verify".
 */
import * as v from "valibot"
import type { Anchor, ReceiptLeaf, ServedReceiptAnchor } from "../artifacts/anchor.ts"
import { servedReceiptAnchorSchema } from "../artifacts/anchor.ts"
import { bundleSchema, sealedBundleSchema } from "../artifacts/bundle-schema.ts"
import { WITHHOLDABLE_NAMES } from "../artifacts/declared-sections.ts"
import { explanationSchema, listedExplanationSchema } from "../artifacts/explanation.ts"
import { manifestSchema, partialManifestSchema } from "../artifacts/manifest.ts"
import { ACT_OUTCOMES, type ActOutcome } from "../artifacts/permit-sections.ts"
import { recordFindingsSchema } from "../artifacts/record-findings.ts"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "../artifacts/sealed-artifacts.ts"
import { FINDING_IDS, LIMITATION_CODES, VERDICTS } from "../verify/report.ts"
import {
  type ArtifactKey,
  GATES,
  type Gate,
  OUTCOME_KINDS,
  type OutcomeKind,
  STAGES,
  type Stage,
} from "../vocabulary/outcomes.ts"
import {
  clockSchema,
  countSchema,
  type Enforcement,
  enforcementSchema,
  nonEmptySchema,
  ordinalSchema,
  permitIdSchema,
  type Shape,
  sha256Schema,
} from "../vocabulary/scalars.ts"

/** Most runs one page may ask for, and how many it gives unasked. */
export const PAGE_LIMIT_MAX = 500
export const PAGE_LIMIT_DEFAULT = 50

/** Formats of `GET /runs/{id}/report.pdf`, and the one that is made unasked. */
export const REPORT_FORMATS = ["brief", "auditor", "legal", "comprehensive"] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]
export const REPORT_FORMAT_DEFAULT: ReportFormat = "comprehensive"

/** Forms of `GET /runs/{id}/artifacts`, and the one that is given unasked. */
export const BUNDLE_FORMS = ["sealed", "full"] as const
export type BundleForm = (typeof BUNDLE_FORMS)[number]
export const BUNDLE_FORM_DEFAULT: BundleForm = "sealed"

/** What a bundle is served with when it is asked for: what witnesses signed of the log since. */
export const BUNDLE_ADDITIONS = ["witnessed"] as const
export type BundleAddition = (typeof BUNDLE_ADDITIONS)[number]

/** What a list of runs is given besides when it is asked for: what only the records say. */
export const RUN_DETAILS = ["record"] as const
export type RunDetails = (typeof RUN_DETAILS)[number]

/** Filters of `GET /runs/search`. */
export type RunFilters = {
  /** Prefix, lowercase hex. */
  readonly manifest_hash?: string
  readonly program_id?: string
  readonly route_id?: string
  /** How `route_id` begins. */
  readonly route_prefix?: string
  readonly status?: OutcomeKind
  /** The same as `status`. */
  readonly outcome_kind?: OutcomeKind
  /** The gate or stage at which the run ended. */
  readonly error_stage?: Gate | Stage
  /** Only runs that were observed and not enforced. */
  readonly enforcement?: Enforcement
  /** What became of the act of the permit that the run closed. */
  readonly closing_outcome?: ActOutcome
  /** Id of the rule or signature that decided: `policy_evaluation.fired_rule_id`; or of a signature whose match was observed. */
  readonly rule_id?: string
  /** SHA-256 of the payload's UTF-8 bytes. */
  readonly payload_hash?: string
  readonly envelope_id?: string
  /** `attested_context.actor_id`. */
  readonly actor_id?: string
  /** `attested_context.model_name`. */
  readonly model_name?: string
  /** `actor_id` of one of `authorization_chain.approvers`. */
  readonly approver?: string
  /** `end_user.subject`: the person whose access token came with the request. */
  readonly end_user?: string
  /** `end_user.issuer`. */
  readonly end_user_issuer?: string
  /** RFC 3339, included; or a day of UTC (`2026-05-06`), from its start. */
  readonly from?: string
  /** RFC 3339, included; or a day of UTC, to its end. */
  readonly to?: string
}

const opt = v.exactOptional
const ok = { ok: v.literal(true) }
/** Empty for a run in which nothing was sealed. */
const sealHashSchema = v.union([sha256Schema, v.literal("")])

/** Empty for a run that did not fail. */
const errorStageSchema: v.GenericSchema<string> = v.picklist(["", ...GATES, ...STAGES])

export const runWhoSchema = v.strictObject({
  /** `attested_context.actor_id`: the caller's word. */
  actor_id: opt(nonEmptySchema),
  /** `end_user.subject`: whom the identity provider names so. */
  end_user: opt(nonEmptySchema),
})
/** Who acted, as a record says; without members where it says nothing of it. */
export type RunWho = Shape<typeof runWhoSchema>

const summary = {
  id: ordinalSchema,
  created_at: clockSchema,
  program_id: sha256Schema,
  route_id: nonEmptySchema,
  manifest_hash: sealHashSchema,
  duration_ms: countSchema,
  status: v.picklist(OUTCOME_KINDS),
  outcome_kind: v.picklist(OUTCOME_KINDS),
  error_stage: errorStageSchema,
  /** Present exactly for a run that was observed and not enforced. */
  enforcement: opt(enforcementSchema),
  execution_region: v.string(),
  /** Absent when the record has none. */
  findings: opt(recordFindingsSchema),
  /** Of a run that a gate refused, or would have refused. */
  explanation: opt(listedExplanationSchema),
  /** Of a run that closed a permit, as the next: the permit, and what became of its act. A run whose act failed is sealed as any other. */
  permit_id: opt(permitIdSchema),
  closing_outcome: opt(v.picklist(ACT_OUTCOMES)),
  /** Who acted, as the record says; only in a list that was asked for details. */
  who: opt(runWhoSchema),
}
export const runSummarySchema = v.strictObject(summary)
export type RunSummary = Shape<typeof runSummarySchema>

export const runsPageSchema = v.strictObject({
  ...ok,
  total: countSchema,
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(PAGE_LIMIT_MAX)),
  offset: countSchema,
  runs: v.pipe(v.array(runSummarySchema), v.maxLength(PAGE_LIMIT_MAX)),
  /** Id of the page's last run, where there may be more. */
  next: opt(ordinalSchema),
})
export type RunsPage = Shape<typeof runsPageSchema>

export const runRecordSchema = v.strictObject({
  ...ok,
  ...summary,
  payload_hash: sha256Schema,
  duration_us: countSchema,
  error_message: v.string(),
  /** The whole of what a list shows in part. */
  explanation: opt(explanationSchema),
  manifest: opt(manifestSchema),
  partial_manifest: opt(partialManifestSchema),
})
export type RunRecord = Shape<typeof runRecordSchema>

export type VerifyAnswer = {
  readonly ok: true
  readonly verified: boolean
  readonly manifest_hash: string
  readonly recomputed_hash?: string
  readonly verification_at?: string
  readonly verification_kind?: "manifest-self-seal" | "receipt-self-seal"
  readonly formula_version?: string
  readonly dcae_engine_hint?: { readonly available_at: string; readonly engine_version: string }
  /** Why there is nothing to verify: a stage_error run has no manifest. */
  readonly reason?: string
}

export const verifyAnswerSchema: v.GenericSchema<unknown, VerifyAnswer> = v.union([
  v.strictObject({
    ...ok,
    verified: v.boolean(),
    manifest_hash: v.string(),
    recomputed_hash: sealHashSchema,
    verification_at: clockSchema,
    verification_kind: v.picklist(["manifest-self-seal", "receipt-self-seal"]),
    formula_version: nonEmptySchema,
    dcae_engine_hint: v.strictObject({ available_at: nonEmptySchema, engine_version: nonEmptySchema }),
  }),
  v.strictObject({ ...ok, verified: v.literal(false), manifest_hash: v.string(), reason: nonEmptySchema }),
])

const sealed = v.strictObject({ manifest_hash: sealHashSchema })
export const determinismAnswerSchema = v.strictObject({
  ...ok,
  deterministic: v.boolean(),
  first: sealed,
  second: sealed,
  diff: v.strictObject({ differs: v.boolean(), differing_fields: v.array(nonEmptySchema) }),
})
export type DeterminismAnswer = Shape<typeof determinismAnswerSchema>

export const checkSchema = v.strictObject({
  id: v.picklist(FINDING_IDS),
  result: v.picklist(["pass", "fail", "absent", "withheld"]),
  message: nonEmptySchema,
})

const limitationSchema = v.strictObject({
  code: v.picklist(LIMITATION_CODES),
  sentence: nonEmptySchema,
  strict: v.boolean(),
})

export const dcaeAnswerSchema = v.strictObject({
  ...ok,
  verified: v.boolean(),
  verdict: v.picklist(Object.values(VERDICTS)),
  checks: v.array(checkSchema),
  /** How the run ended, where the document is a run's. */
  outcome_kind: opt(v.picklist(OUTCOME_KINDS)),
  /** Present exactly where that was observed and not enforced. */
  enforcement: opt(enforcementSchema),
  /** What the record says happened, when that is not a completed run. */
  statement: opt(nonEmptySchema),
  /** Sections whose content the document keeps back. */
  withheld: v.array(v.picklist(WITHHOLDABLE_NAMES)),
  limitations: v.array(limitationSchema),
  engine_version: nonEmptySchema,
})
export type DcaeAnswer = Shape<typeof dcaeAnswerSchema>

/** `GET /runs/{id}/artifacts`, in the form that is asked for. */
export const bundleAnswerSchema = v.union([sealedBundleSchema, bundleSchema])

const served = { ...ok, run_id: ordinalSchema }
const receiptAnswer = { ...served, receipt_anchor: opt(servedReceiptAnchorSchema) }

/**
 * What the endpoint of an artifact answers. A receipt's answer can be verified by itself. The allow token has no log entry of its
 * own: the run's bundle has.
 */
export const ARTIFACT_ANSWERS = {
  allow_token: v.strictObject({ ...served, allow_token: allowTokenSchema }),
  deny_receipt: v.strictObject({ ...receiptAnswer, deny_receipt: RECEIPT_SCHEMAS.deny_receipt }),
  ccv_halt_receipt: v.strictObject({ ...receiptAnswer, ccv_halt_receipt: RECEIPT_SCHEMAS.ccv_halt_receipt }),
  macc_halt_receipt: v.strictObject({ ...receiptAnswer, macc_halt_receipt: RECEIPT_SCHEMAS.macc_halt_receipt }),
  aivp_t4_halt_receipt: v.strictObject({
    ...receiptAnswer,
    aivp_t4_halt_receipt: RECEIPT_SCHEMAS.aivp_t4_halt_receipt,
  }),
  attestation_gap_receipt: v.strictObject({
    ...receiptAnswer,
    attestation_gap_receipt: RECEIPT_SCHEMAS.attestation_gap_receipt,
  }),
}
export type ArtifactAnswers = { readonly [Key in ArtifactKey]: Shape<(typeof ARTIFACT_ANSWERS)[Key]> }

/** A receipt's anchor as its endpoint serves it. */
export const serveReceiptAnchor = (anchor: Anchor<ReceiptLeaf>): ServedReceiptAnchor => ({
  version: anchor.leaf.leaf_version,
  ...anchor,
})
