/** Answers of the endpoints of approvals, as strict as this release writes them. docs/api.md, "Approvals". */
import * as v from "valibot"
import { shownActSchema } from "../artifacts/act-section.ts"
import { approvalRequestSchema } from "../artifacts/approval-request.ts"
import { APPROVAL_DECISIONS_MAX, approvalDecisionSchema, approvalIdSchema } from "../artifacts/approvals.ts"
import { neededApprovalSchema } from "../artifacts/sealed-sections.ts"
import { MAX_RULES } from "../vocabulary/decision-codes.ts"
import {
  clockSchema,
  nonEmptySchema,
  ordinalSchema,
  permitIdSchema,
  routeIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
  textSchema,
} from "../vocabulary/scalars.ts"
import { commentSchema } from "./approval-requests.ts"
import type { ErrorCode } from "./error-codes.ts"
import { ignoredSchema } from "./ignored-members.ts"

const opt = v.exactOptional
const ok = { ok: v.literal(true) }

/**
 * `waiting`: people may decide. `approved`: enough did, and the key that asked may collect the permit. `rejected`, `withdrawn`: it is over, and a
 * refused run is about to be sealed for it. `collected`: a permit was opened. `refused`: a run was refused instead.
 */
export const APPROVAL_STATES = ["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] as const
export type ApprovalState = (typeof APPROVAL_STATES)[number]

export const DECISIONS = ["approve", "reject"] as const
export type ApproverDecision = (typeof DECISIONS)[number]

/** Path of the console's page on which people decide. */
export const approvalPage = (approval_id: string): string => `/console/approval?id=${approval_id}`

/** Most requests of one page. */
export const APPROVALS_LIMIT_MAX = 100
/** Requests of a key, the newest before one, among which one with which it can be compared is looked for. */
export const COMPARED_REQUESTS_MAX = 1000
/** Most earlier rejections of the same act that are shown, and for how long, in days. */
export const REJECTIONS_MAX = 20
export const REJECTIONS_DAYS = 30

const { person, comment_hash: _hash, passkey: _passkey, ...decided } = approvalDecisionSchema.entries
const decisionEntries = {
  ...decided,
  ...person.entries,
  /** As long as it is not deleted: what is sealed of it is a hash. */
  comment: opt(commentSchema),
}
/** What a person decided, as it is shown. */
export const shownDecisionSchema = v.strictObject(decisionEntries)

const summary = {
  approval_id: approvalIdSchema,
  state: v.picklist(APPROVAL_STATES),
  requested_at: clockSchema,
  /** From then on nobody can approve or collect it. */
  expires_at: clockSchema,
  tenant_id: tenantIdSchema,
  program_id: sha256Schema,
  route_id: routeIdSchema,
  audience: nonEmptySchema,
  /** Name of the API key that asked; absent for a caller without one. */
  asked_by: opt(nonEmptySchema),
  /** What the service read of the payload; absent where no act table names the route. */
  act: opt(v.strictObject({ table: shownActSchema.entries.table, values: shownActSchema.entries.values })),
  end_user: opt(v.strictObject({ issuer: nonEmptySchema, subject: nonEmptySchema })),
  /** What each rule requires that matched. */
  needed: v.pipe(v.array(neededApprovalSchema), v.maxLength(MAX_RULES)),
  /** One a person, the first first. */
  decisions: v.pipe(v.array(shownDecisionSchema), v.maxLength(APPROVAL_DECISIONS_MAX)),
  /** Of the permit that was opened. */
  permit_id: opt(permitIdSchema),
  /** Of the run that was refused instead. */
  run_id: opt(ordinalSchema),
}
export const approvalSummarySchema = v.strictObject(summary)
/** A request for an approval in a list. */
export type ApprovalSummary = Shape<typeof approvalSummarySchema>

export const approvalsPageSchema = v.strictObject({
  ...ok,
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(APPROVALS_LIMIT_MAX)),
  approvals: v.pipe(v.array(approvalSummarySchema), v.maxLength(APPROVALS_LIMIT_MAX)),
  /** Where the next page begins, where there may be more: to be sent back as it is. */
  next: opt(nonEmptySchema),
})
/** `GET /approvals`: newest first. */
export type ApprovalsPage = Shape<typeof approvalsPageSchema>

/** A rejection of the same act before. */
export const rejectionSchema = v.strictObject({ approval_id: approvalIdSchema, ...decisionEntries })

/** The newest request before, of the same key and route, for which a permit was given and which the caller sees. */
export const approvedBeforeSchema = v.strictObject({
  approval_id: approvalIdSchema,
  requested_at: clockSchema,
  act: summary.act,
  decisions: summary.decisions,
})

export const approvalRecordSchema = v.strictObject({
  ...ok,
  ...summary,
  /** What a decision names: `request_hash` of the document. */
  request_digest: sha256Schema,
  /** The sealed request, which verifies by itself. */
  request: approvalRequestSchema,
  /** The page on which people decide. */
  address: nonEmptySchema,
  /** For those who approve, as long as it is stored. */
  payload: opt(textSchema),
  /** Earlier rejections of the same act, the newest first. */
  rejections: v.pipe(v.array(rejectionSchema), v.maxLength(REJECTIONS_MAX)),
  /** With what it can be compared; absent where there is none that the caller sees. */
  approved_before: opt(approvedBeforeSchema),
})
/** `GET /approvals/{id}`. */
export type ApprovalRecord = Shape<typeof approvalRecordSchema>

export const decidedApprovalSchema = v.strictObject({ ...ok, ...summary })
/** `POST /approvals/{id}/decision`. */
export type DecidedApproval = Shape<typeof decidedApprovalSchema>

/**
 * Codes of refusals of an act that people would have to approve. They are decisions: it is not done, also where a caller goes on without one.
 */
export const ASKING_REFUSED: readonly ErrorCode[] = [
  "approval_waiting",
  "approval_over",
  "approval_payload_too_large",
  "too_many_approvals",
]

/** What the caller is to know while people decide. */
export const pendingSentence = ({ address, expires_at }: Pick<AskedApprovalAnswer, "address" | "expires_at">): string =>
  `People decide on this call, until ${expires_at}: ${address}`

export const askedApprovalAnswerSchema = v.strictObject({
  ok: v.literal(true),
  approval_id: approvalIdSchema,
  state: v.picklist(APPROVAL_STATES),
  /** From then on it cannot be approved or collected. */
  expires_at: clockSchema,
  /** Where people decide: a page of the console. */
  address: nonEmptySchema,
  /** The sealed request, which verifies by itself. */
  request: approvalRequestSchema,
  ignored: ignoredSchema,
})
/** Status 202 of `POST /permits` and of `POST /approvals/{id}/permit`: people decide. */
export type AskedApprovalAnswer = Shape<typeof askedApprovalAnswerSchema>
