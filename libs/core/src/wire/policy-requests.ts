/** Policies on the wire: loading, history, dry run. docs/api.md, "Policies". */
import * as v from "valibot"
import { jsonObjectSchema } from "../artifacts/json-object-schema.ts"
import { ATTESTED_FIELDS, PEPG_REASON_CODES } from "../vocabulary/decision-codes.ts"
import { OUTCOME_KINDS } from "../vocabulary/outcomes.ts"
import {
  actorSchema,
  clockSchema,
  countSchema,
  nonEmptySchema,
  ordinalSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { PAGE_LIMIT_MAX } from "./run-summaries.ts"

const opt = v.exactOptional
const ok = { ok: v.literal(true) }

/** Where a policy came from. */
export const POLICY_SOURCES = ["built-in", "file", "api"] as const

/** `POST /admin/policies`. The document is judged by its own strict schema. */
export const loadPolicyRequestSchema = v.strictObject({ policy: jsonObjectSchema })
export type LoadPolicyRequest = Shape<typeof loadPolicyRequestSchema>

/** Most runs that a dry run reads, and how many it reads unasked. */
export const DRY_RUN_MAX = 1000
export const DRY_RUN_DEFAULT = 200
const DRY_RUN_LAST = `must be an integer from 1 to ${DRY_RUN_MAX}`
/** Most runs that its answer lists, of those that would change and of those that were not judged. */
export const DRY_RUN_LISTED_MAX = 200

/** `POST /admin/policies/dry-run`. */
export const dryRunRequestSchema = v.strictObject({
  policy: jsonObjectSchema,
  /** The newest runs of all callers. */
  last: opt(
    v.pipe(
      v.number(DRY_RUN_LAST),
      v.integer(DRY_RUN_LAST),
      v.minValue(1, DRY_RUN_LAST),
      v.maxValue(DRY_RUN_MAX, DRY_RUN_LAST),
    ),
  ),
})

export type DryRunRequest = Shape<typeof dryRunRequestSchema>

const version = {
  /** 1, 2, 3 …; the highest is in force. */
  version: ordinalSchema,
  policy_id: nonEmptySchema,
  policy_name: nonEmptySchema,
  /** As the records of the process that loaded it name it. */
  policy_hash: sha256Schema,
  active_since: clockSchema,
  source: v.picklist(POLICY_SOURCES),
  /** Absent for the first policy of a deployment. */
  loaded_by: opt(actorSchema),
  loaded_by_name: opt(nonEmptySchema),
  /** The document as it was loaded. */
  policy: jsonObjectSchema,
}
export const policyVersionSchema = v.strictObject(version)
export type PolicyVersion = Shape<typeof policyVersionSchema>

export const foundPolicySchema = v.strictObject({ ...ok, ...version })
/** `GET /admin/policies/{version}`. */
export type FoundPolicy = Shape<typeof foundPolicySchema>

export const loadedPolicySchema = v.strictObject({
  ...ok,
  /** False when this document was in force already. */
  changed: v.boolean(),
  ...version,
})
/** `POST /admin/policies`. */
export type LoadedPolicy = Shape<typeof loadedPolicySchema>

/** For so long a policy may be confirmed, in milliseconds, and most that wait for it at once. */
export const PROPOSED_FOR_MS = 86_400_000
export const PROPOSALS_MAX = 16

const proposed = {
  policy_id: nonEmptySchema,
  policy_name: nonEmptySchema,
  policy_hash: sha256Schema,
  proposed_by: actorSchema,
  proposed_by_name: opt(nonEmptySchema),
  /** From then on it cannot be confirmed. */
  expires_at: clockSchema,
  policy: jsonObjectSchema,
}
const proposedPolicySchema = v.strictObject(proposed)
export type ProposedPolicy = Shape<typeof proposedPolicySchema>

export const policyProposalSchema = v.strictObject({ ...ok, ...proposed })
/** Status 202 of `POST /admin/policies`: another admin confirms it by loading the same document. */
export type PolicyProposal = Shape<typeof policyProposalSchema>

export const policiesPageSchema = v.strictObject({
  ...ok,
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(PAGE_LIMIT_MAX)),
  policies: v.pipe(v.array(policyVersionSchema), v.maxLength(PAGE_LIMIT_MAX)),
  /** Policies that wait for another admin to load them too; on the first page, where there are any. */
  proposed: opt(v.pipe(v.array(proposedPolicySchema), v.maxLength(PROPOSALS_MAX))),
  /** Version of the page's last policy, where there are more. */
  next: opt(ordinalSchema),
})
/** `GET /admin/policies`: newest first. */
export type PoliciesPage = Shape<typeof policiesPageSchema>

export const judgementSchema = v.strictObject({
  decision: v.picklist(["admitted", "denied", "not_admitted"]),
  /** Of a decision by the policy's rules or by a signature. */
  rule_id: opt(nonEmptySchema),
  reason: opt(v.picklist(PEPG_REASON_CODES)),
  /** Of a run that is not admitted. */
  missing_fields: opt(v.array(v.picklist(ATTESTED_FIELDS))),
})
/** What a policy comes to on a run. */
export type Judgement = Shape<typeof judgementSchema>

const named = v.strictObject({ policy_id: nonEmptySchema, policy_hash: sha256Schema })

export const dryRunAnswerSchema = v.strictObject({
  ...ok,
  in_force: named,
  candidate: named,
  /** Runs that both policies judged. */
  judged: countSchema,
  /** Runs on which their decisions differ, and how. */
  changed: countSchema,
  newly_refused: countSchema,
  newly_admitted: countSchema,
  /** How many of the runs each rule decides; a rule that decides none is not in the list. */
  rules: v.array(v.strictObject({ rule_id: nonEmptySchema, in_force: countSchema, candidate: countSchema })),
  /** The newest of the changed ones. */
  changes: v.pipe(
    v.array(
      v.strictObject({
        run_id: ordinalSchema,
        tenant_id: tenantIdSchema,
        route_id: nonEmptySchema,
        created_at: clockSchema,
        /** As it was sealed. */
        outcome_kind: v.picklist(OUTCOME_KINDS),
        in_force: judgementSchema,
        candidate: judgementSchema,
      }),
    ),
    v.maxLength(DRY_RUN_LISTED_MAX),
  ),
  not_judged: countSchema,
  not_judged_runs: v.pipe(
    v.array(v.strictObject({ run_id: ordinalSchema, reason: nonEmptySchema })),
    v.maxLength(DRY_RUN_LISTED_MAX),
  ),
})
export type DryRunAnswer = Shape<typeof dryRunAnswerSchema>
