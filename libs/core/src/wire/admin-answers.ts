/**
 * What administrators and auditors see of the whole deployment. Lists are paged by a key of their rows: `next` of a page is `before` of the
 * next one, and is absent from the last. docs/api.md, "The deployment".
 */
import * as v from "valibot"
import { eventFacts } from "../artifacts/admin-event.ts"
import { jsonObjectSchema } from "../artifacts/json-object-schema.ts"
import { OUTCOME_KINDS, type OutcomeKind } from "../vocabulary/outcomes.ts"
import {
  clockSchema,
  countSchema,
  nonEmptySchema,
  ordinalSchema,
  type Shape,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import { publicationTokenSchema, scopeSchema, tierSchema } from "./key-requests.ts"
import { permitRecordSchema, permitSummarySchema } from "./permit-answers.ts"
import { PAGE_LIMIT_MAX, runRecordSchema, runSummarySchema } from "./run-summaries.ts"

const opt = v.exactOptional
const ok = { ok: v.literal(true) }
const limit = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(PAGE_LIMIT_MAX))
/** Id of the API key behind a run or permit; 0 = open mode. */
const key_id = countSchema

export const adminRunSummarySchema = v.strictObject({ ...runSummarySchema.entries, key_id })
export type AdminRunSummary = Shape<typeof adminRunSummarySchema>

export const outcomeCountsSchema: v.GenericSchema<unknown, Readonly<Record<OutcomeKind, number>>> = v.strictObject({
  ok: countSchema,
  pepg_deny: countSchema,
  ccv_halt: countSchema,
  macc_halt: countSchema,
  aivp_t4_halt: countSchema,
  attestation_gap: countSchema,
  stage_error: countSchema,
})

/** Most runs that `with=counts` counts: more would make a page wait. */
export const COUNTED_RUNS_MAX = 50_000
/** What `GET /admin/runs` answers besides, when it is asked for. */
export const RUNS_ADDITIONS = ["counts"] as const

export const adminRunsPageSchema = v.strictObject({
  ...ok,
  limit,
  runs: v.pipe(v.array(adminRunSummarySchema), v.maxLength(PAGE_LIMIT_MAX)),
  /** Id of the page's last run. */
  next: opt(ordinalSchema),
  /** With `with=counts`: how many runs match every filter but the outcome, by outcome. Absent where they are more than COUNTED_RUNS_MAX. */
  counts: opt(outcomeCountsSchema),
})
/** `GET /admin/runs`: newest first. */
export type AdminRunsPage = Shape<typeof adminRunsPageSchema>

export const adminRunRecordSchema = v.strictObject({ ...runRecordSchema.entries, key_id })
/** `GET /admin/runs/{id}`. */
export type AdminRunRecord = Shape<typeof adminRunRecordSchema>

export const adminPermitSummarySchema = v.strictObject({ ...permitSummarySchema.entries, key_id })
export type AdminPermitSummary = Shape<typeof adminPermitSummarySchema>

export const adminPermitsPageSchema = v.strictObject({
  ...ok,
  limit,
  permits: v.pipe(v.array(adminPermitSummarySchema), v.maxLength(PAGE_LIMIT_MAX)),
  /** Where the next page begins: to be sent back as it is. */
  next: opt(nonEmptySchema),
})
/** `GET /admin/permits`: newest first. */
export type AdminPermitsPage = Shape<typeof adminPermitsPageSchema>

export const adminPermitRecordSchema = v.strictObject({ ...permitRecordSchema.entries, key_id })
/** `GET /admin/permits/{id}`. */
export type AdminPermitRecord = Shape<typeof adminPermitRecordSchema>

export const publicationSchema = v.strictObject({
  run_id: ordinalSchema,
  key_id,
  outcome_kind: v.picklist(OUTCOME_KINDS),
  token: publicationTokenSchema,
  /** Where anybody reads the bundle. */
  url: nonEmptySchema,
  published_at: clockSchema,
})
export type Publication = Shape<typeof publicationSchema>

export const publicationsPageSchema = v.strictObject({
  ...ok,
  limit,
  published: v.pipe(v.array(publicationSchema), v.maxLength(PAGE_LIMIT_MAX)),
  next: opt(ordinalSchema),
})
/** `GET /admin/published`: the newest run first. */
export type PublicationsPage = Shape<typeof publicationsPageSchema>

export const keyUsageSchema = v.strictObject({
  key_id,
  /** Of the key; `anonymous` for open mode. */
  name: nonEmptySchema,
  /** This and the next: absent for open mode. */
  scope: opt(scopeSchema),
  tier: opt(tierSchema),
  revoked: v.boolean(),
  /** Null for a key that was never used; written at most once a minute. Absent for open mode. */
  last_used_at: opt(v.nullable(clockSchema)),
  runs: countSchema,
  outcomes: outcomeCountsSchema,
  /** Tokens that were charged in all budget windows, with those that open permits reserve. */
  tokens: countSchema,
  open_permits: countSchema,
  /** The budget window of now. */
  window: v.strictObject({
    window_start: clockSchema,
    window_seconds: ordinalSchema,
    /** Runs that were admitted in it. One that was admitted just before it and sealed in it may be counted. */
    runs: countSchema,
    /** Tokens charged and reserved in it. */
    total: countSchema,
    cap: countSchema,
  }),
  /** Of a trial customer key: its runs of the rolling period, and how many are left. */
  trial: opt(v.strictObject({ used: countSchema, left: countSchema })),
})
/** What a key has used. */
export type KeyUsage = Shape<typeof keyUsageSchema>

export const usageAnswerSchema = v.strictObject({ ...ok, at: clockSchema, keys: v.array(keyUsageSchema) })
/** `GET /admin/usage`: every key with a run, or that is not revoked; oldest first. */
export type UsageAnswer = Shape<typeof usageAnswerSchema>

export const policyInForceSchema = v.strictObject({
  ...ok,
  policy_id: nonEmptySchema,
  /** As records name it: `policy_evaluation.policy_hash`. */
  policy_hash: sha256Schema,
  /** What it decides by: the SHA-256 of its RFC 8785 text is `policy_hash`. */
  policy: jsonObjectSchema,
  /** Since when this process decides by it. */
  active_since: clockSchema,
  /** The library of signatures of malicious code. */
  signatures: v.strictObject({ library_hash: sha256Schema, count: countSchema }),
})
/** `GET /admin/policy`. */
export type PolicyInForce = Shape<typeof policyInForceSchema>

export const listedEventSchema = v.strictObject({
  /** Place in the deployment's chain: 1, 2, 3 … without a gap. */
  ordinal: ordinalSchema,
  ...eventFacts,
  /** Absent until it is sealed, which takes some seconds for the event of a command. */
  sealed: opt(v.strictObject({ seal_clock: clockSchema, event_hash: sha256Schema, log_index: countSchema })),
})
/** An admin event in a list. */
export type ListedEvent = Shape<typeof listedEventSchema>

export const eventsPageSchema = v.strictObject({
  ...ok,
  limit,
  events: v.pipe(v.array(listedEventSchema), v.maxLength(PAGE_LIMIT_MAX)),
  /** Ordinal of the page's last event. */
  next: opt(ordinalSchema),
})
/** `GET /admin/audit`: newest first. */
export type EventsPage = Shape<typeof eventsPageSchema>
