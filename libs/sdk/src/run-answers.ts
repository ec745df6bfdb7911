/** Shapes of the answers about runs and about the service. docs/api.md, "GET /runs", "GET /runs/{id}/verify" and "GET /health". */
import type { JsonObject } from "@runseal/canonical"
import { DECLARED_NAMES } from "@runseal/core/artifacts/declared-sections"
import { jsonObjectSchema } from "@runseal/core/artifacts/json-schema"
import { manifestSchema, partialManifestSchema } from "@runseal/core/artifacts/manifest"
import { FINDING_IDS, LIMITATION_CODES, VERDICTS } from "@runseal/core/verify/report"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { countSchema, ordinalSchema } from "@runseal/core/vocabulary/scalars"
import {
  type DcaeAnswer,
  type DeterminismAnswer,
  type HealthAnswer,
  PAGE_LIMIT_MAX,
  type RunRecord,
  type RunSummary,
  type RunsPage,
  type VerifyAnswer,
} from "@runseal/core/wire/runs"
import * as v from "valibot"

const text = v.string()
const ok = { ok: v.literal(true) }
const opt = v.exactOptional

const summary = {
  id: ordinalSchema,
  created_at: text,
  program_id: text,
  route_id: text,
  manifest_hash: text,
  duration_ms: countSchema,
  status: v.picklist(OUTCOME_KINDS),
  outcome_kind: v.picklist(OUTCOME_KINDS),
  error_stage: text,
  execution_region: text,
}
const runSummarySchema: v.GenericSchema<unknown, RunSummary> = v.object(summary)

export const runsPageSchema: v.GenericSchema<unknown, RunsPage> = v.object({
  ...ok,
  total: countSchema,
  limit: countSchema,
  offset: countSchema,
  runs: v.pipe(v.array(runSummarySchema), v.maxLength(PAGE_LIMIT_MAX)),
})

export const runRecordSchema: v.GenericSchema<unknown, RunRecord> = v.object({
  ...ok,
  ...summary,
  payload_hash: text,
  duration_us: countSchema,
  error_message: text,
  manifest: opt(manifestSchema),
  partial_manifest: opt(partialManifestSchema),
})

/** Members of this answer may be absent or null; absent is the one form we hand on. */
const withoutNulls = (answer: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== null))

export const verifyAnswerSchema: v.GenericSchema<unknown, VerifyAnswer> = v.pipe(
  jsonObjectSchema,
  v.transform(withoutNulls),
  v.object({
    ...ok,
    verified: v.boolean(),
    manifest_hash: text,
    recomputed_hash: opt(text),
    verification_at: opt(text),
    verification_kind: opt(v.picklist(["manifest-self-seal", "receipt-self-seal"])),
    formula_version: opt(text),
    dcae_engine_hint: opt(v.object({ available_at: text, engine_version: text })),
    reason: opt(text),
  }),
)

const sealed = v.object({ manifest_hash: text })
export const determinismAnswerSchema: v.GenericSchema<unknown, DeterminismAnswer> = v.object({
  ...ok,
  deterministic: v.boolean(),
  first: sealed,
  second: sealed,
  diff: v.object({ differs: v.boolean(), differing_fields: v.array(text) }),
})

export const dcaeAnswerSchema: v.GenericSchema<unknown, DcaeAnswer> = v.object({
  ...ok,
  verified: v.boolean(),
  verdict: v.picklist(Object.values(VERDICTS)),
  checks: v.array(
    v.object({
      id: v.picklist(FINDING_IDS),
      result: v.picklist(["pass", "fail", "absent", "withheld"]),
      message: text,
    }),
  ),
  outcome_kind: opt(v.picklist(OUTCOME_KINDS)),
  statement: opt(text),
  withheld: v.array(v.picklist(DECLARED_NAMES)),
  limitations: v.array(v.object({ code: v.picklist(LIMITATION_CODES), sentence: text, strict: v.boolean() })),
  engine_version: text,
})

const release = { ...ok, service: text, version: text, orchestrator_version: text, orchestrator_git_sha: text }
export const healthAnswerSchema: v.GenericSchema<unknown, HealthAnswer> = v.object({ ...release, time: text })

/** What `GET /version` says: the release, and under which log and formula it seals. */
export type VersionAnswer = Omit<HealthAnswer, "time"> & {
  /** Origin line of the log's checkpoints. */
  readonly log_origin: string
  readonly formula_version: string
}
export const versionAnswerSchema: v.GenericSchema<unknown, VersionAnswer> = v.object({
  ...release,
  log_origin: text,
  formula_version: text,
})
