/** Answers of the endpoints of approvals, as strict as this release writes them. docs/api.md, "Approvals". */
import * as v from "valibot"
import { approvalRequestSchema } from "../artifacts/approval-request.ts"
import { approvalIdSchema } from "../artifacts/approvals.ts"
import { clockSchema, nonEmptySchema, type Shape } from "../vocabulary/scalars.ts"
import { ignoredSchema } from "./ignored-members.ts"

/**
 * `waiting`: people may decide. `approved`: enough did, and the key that asked may collect the permit. `rejected`, `withdrawn`: it is over, and a
 * refused run is about to be sealed for it. `collected`: a permit was opened. `refused`: a run was refused instead.
 */
export const APPROVAL_STATES = ["waiting", "approved", "rejected", "withdrawn", "collected", "refused"] as const
export type ApprovalState = (typeof APPROVAL_STATES)[number]

export const DECISIONS = ["approve", "reject"] as const
export type Decision = (typeof DECISIONS)[number]

/** How a decision is proven: by a sign-in at the identity provider, or by the operator's word that a key is the person's. */
export const DECISION_PROOFS = ["idp", "key"] as const
export type DecisionProof = (typeof DECISION_PROOFS)[number]

/** Path of the console's page on which people decide. */
export const approvalPage = (approval_id: string): string => `/console/approval?id=${approval_id}`

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
