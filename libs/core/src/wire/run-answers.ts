/**
 * Schemas of what the run endpoints answer, as strict as the types of runs.ts: a member they do not name is a mistake of
 * ours. A reader that must survive later releases is more lenient. docs/api.md.
 */
import * as v from "valibot"
import { servedReceiptAnchorSchema } from "../artifacts/anchor.ts"
import { DECLARED_NAMES } from "../artifacts/declared-sections.ts"
import { manifestSchema, partialManifestSchema } from "../artifacts/manifest.ts"
import { allowTokenSchema, RECEIPT_SCHEMAS } from "../artifacts/sealed-artifacts.ts"
import { type Check, FINDING_IDS, LIMITATION_CODES, type Limitation, VERDICTS } from "../verify/report.ts"
import { type ArtifactKey, GATES, OUTCOME_KINDS, STAGES } from "../vocabulary/outcomes.ts"
import { clockSchema, countSchema, nonEmptySchema, ordinalSchema, sha256Schema } from "../vocabulary/scalars.ts"
import {
  type DcaeAnswer,
  type DeterminismAnswer,
  PAGE_LIMIT_MAX,
  type RunRecord,
  type RunSummary,
  type RunsPage,
  type VerifyAnswer,
} from "./runs.ts"

const opt = v.exactOptional
const ok = { ok: v.literal(true) }
/** Empty for a run in which nothing was sealed. */
const sealHashSchema = v.union([sha256Schema, v.literal("")])

const summary = {
  id: ordinalSchema,
  created_at: clockSchema,
  program_id: sha256Schema,
  route_id: nonEmptySchema,
  manifest_hash: sealHashSchema,
  duration_ms: countSchema,
  status: v.picklist(OUTCOME_KINDS),
  outcome_kind: v.picklist(OUTCOME_KINDS),
  error_stage: v.picklist(["", ...GATES, ...STAGES]),
  execution_region: v.string(),
}
export const runSummarySchema: v.GenericSchema<unknown, RunSummary> = v.strictObject(summary)

export const runsPageSchema: v.GenericSchema<unknown, RunsPage> = v.strictObject({
  ...ok,
  total: countSchema,
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(PAGE_LIMIT_MAX)),
  offset: countSchema,
  runs: v.pipe(v.array(runSummarySchema), v.maxLength(PAGE_LIMIT_MAX)),
})

export const runRecordSchema: v.GenericSchema<unknown, RunRecord> = v.strictObject({
  ...ok,
  ...summary,
  payload_hash: sha256Schema,
  duration_us: countSchema,
  error_message: v.string(),
  manifest: opt(manifestSchema),
  partial_manifest: opt(partialManifestSchema),
})

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
export const determinismAnswerSchema: v.GenericSchema<unknown, DeterminismAnswer> = v.strictObject({
  ...ok,
  deterministic: v.boolean(),
  first: sealed,
  second: sealed,
  diff: v.strictObject({ differs: v.boolean(), differing_fields: v.array(nonEmptySchema) }),
})

export const checkSchema: v.GenericSchema<unknown, Check> = v.strictObject({
  id: v.picklist(FINDING_IDS),
  result: v.picklist(["pass", "fail", "absent", "withheld"]),
  message: nonEmptySchema,
})

const limitationSchema: v.GenericSchema<unknown, Limitation> = v.strictObject({
  code: v.picklist(LIMITATION_CODES),
  sentence: nonEmptySchema,
  strict: v.boolean(),
})

export const dcaeAnswerSchema: v.GenericSchema<unknown, DcaeAnswer> = v.strictObject({
  ...ok,
  verified: v.boolean(),
  verdict: v.picklist(Object.values(VERDICTS)),
  checks: v.array(checkSchema),
  outcome_kind: opt(v.picklist(OUTCOME_KINDS)),
  statement: opt(nonEmptySchema),
  withheld: v.array(v.picklist(DECLARED_NAMES)),
  limitations: v.array(limitationSchema),
  engine_version: nonEmptySchema,
})

/** What the endpoint of an artifact answers. The allow token has no entry of its own: the run's bundle has. */
export const artifactAnswerSchema = (key: ArtifactKey): v.GenericSchema =>
  key === "allow_token"
    ? v.strictObject({ ...ok, run_id: ordinalSchema, allow_token: allowTokenSchema })
    : v.strictObject({
        ...ok,
        run_id: ordinalSchema,
        [key]: RECEIPT_SCHEMAS[key],
        receipt_anchor: opt(servedReceiptAnchorSchema),
      })
