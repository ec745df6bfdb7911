/**
 * A request for an approval: the opening of a permit that rules leave to persons, as it was asked for and judged. It is anchored before
 * anybody decides, and verifies by itself. docs/formats.md section 7.12.
 */
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import {
  clockSchema,
  countSchema,
  lineSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { chainPlace } from "./anchor.ts"
import { approvalIdSchema } from "./approvals.ts"
import { AUDIENCE_MAX_LENGTH, requestSectionEntries } from "./opening.ts"

export const APPROVAL_REQUEST_KIND = "vfa.approval_request.v1"
export const APPROVAL_REQUEST_LEAF_VERSION = "vfa.approval_request_leaf.v1"

const approvalRequestLeafSchema = v.strictObject({
  leaf_version: v.literal(APPROVAL_REQUEST_LEAF_VERSION),
  approval_id: approvalIdSchema,
  request_hash: sha256Schema,
  ...chainPlace,
})
/** Anchors one request in its tenant's chain, before anybody decides. */
export type ApprovalRequestLeaf = Shape<typeof approvalRequestLeafSchema>

export const approvalRequestSchema = v.strictObject({
  kind: v.literal(APPROVAL_REQUEST_KIND),
  tenant_id: tenantIdSchema,
  /** Opens the leaf's tenant_commitment. */
  tenant_salt: sha256Schema,
  approval_id: approvalIdSchema,
  /** The terms of the permit, which has to be redeemed: one approval is one act. */
  audience: lineSchema(AUDIENCE_MAX_LENGTH),
  valid_for_seconds: countSchema,
  close_within_seconds: countSchema,
  reserve_tokens: countSchema,
  /** Until when it can be approved and collected: the shortest time of the rules. */
  expires_at: clockSchema,
  /** As of an opening; the policy says APPROVAL_REQUIRED, and whose. */
  sections: v.strictObject(requestSectionEntries),
  request_hash: sha256Schema,
  leaf: approvalRequestLeafSchema,
  entry: transparencyLogEntrySchema,
})
export type ApprovalRequest = Shape<typeof approvalRequestSchema>

/** A request before its own hash. */
export type ApprovalRequestBody = Omit<ApprovalRequest, "request_hash" | "leaf" | "entry">
