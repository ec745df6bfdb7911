/**
 * The opening of a permit: what was decided before an act, and what it reserved. It is anchored before the permit is given out, and verifies
 * by itself. docs/formats.md section 7.8.
 */
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import {
  clockSchema,
  countSchema,
  lineSchema,
  permitIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { chainPlace } from "./anchor.ts"
import { allowTokenSchema } from "./sealed-artifacts.ts"
import { budgetWindowSchema, SEALED_SCHEMAS } from "./sealed-sections.ts"

export const OPENING_KIND = "vfa.opening.v1"
export const OPENING_LEAF_VERSION = "vfa.opening_leaf.v1"

export const openingLeafSchema = v.strictObject({
  leaf_version: v.literal(OPENING_LEAF_VERSION),
  permit_id: permitIdSchema,
  opening_hash: sha256Schema,
  ...chainPlace,
})
/** Anchors one opening in its tenant's chain, before the act. */
export type OpeningLeaf = Shape<typeof openingLeafSchema>

/** Longest name of who is to act, in UTF-16 units. */
export const AUDIENCE_MAX_LENGTH = 256

/** Seconds for which a permit may be acted on. */
export const VALID_SECONDS_MAX = 3600
/** The same of a permit that must be redeemed. */
export const REDEEMED_VALID_SECONDS_MAX = 86_400
/** Seconds after a permit's expiry within which its run must be closed. */
export const CLOSE_SECONDS_MIN = 120
export const CLOSE_SECONDS_MAX = 86_400

const { payload, system_provenance, envelope, end_user, act, approvals, policy_evaluation, mcd_finding } =
  SEALED_SCHEMAS
const { attested_context, request_substance, authorization_chain } = SEALED_SCHEMAS
const { regulatory_scaffolding, causal_graph, reproducibility_context } = SEALED_SCHEMAS

/** What a permit is asked for with, and what the policy decided of it. */
export const requestSectionEntries = {
  payload,
  attested_context,
  request_substance,
  authorization_chain,
  regulatory_scaffolding,
  causal_graph,
  reproducibility_context,
  system_provenance,
  envelope,
  end_user: v.exactOptional(end_user),
  act: v.exactOptional(act),
  policy_evaluation,
  mcd_finding: v.exactOptional(mcd_finding),
}

export const openingSchema = v.strictObject({
  kind: v.literal(OPENING_KIND),
  tenant_id: tenantIdSchema,
  /** Opens the leaf's tenant_commitment. */
  tenant_salt: sha256Schema,
  permit_id: permitIdSchema,
  /** Who is to act, as the caller names it. */
  audience: lineSchema(AUDIENCE_MAX_LENGTH),
  /** Until when the permit may be acted on. */
  expires_at: clockSchema,
  /** Until when the run may be closed. */
  close_by: clockSchema,
  /** The permit allows the act only after it was redeemed, once. */
  redeem_required: v.exactOptional(v.literal(true)),
  /** `approvals` exactly where the permit rests on a request for an approval. */
  sections: v.strictObject({ ...requestSectionEntries, approvals: v.exactOptional(approvals) }),
  allow_token: allowTokenSchema,
  /** Tokens that one run may use, by the policy in force when the permit was opened. */
  run_limit: countSchema,
  /** The movement of the tenant's budget window that reserves the tokens. */
  reservation: budgetWindowSchema,
  opening_hash: sha256Schema,
  leaf: openingLeafSchema,
  entry: transparencyLogEntrySchema,
})
export type Opening = Shape<typeof openingSchema>
export type OpeningSections = Opening["sections"]

/** An opening before its own hash. */
export type OpeningBody = Omit<Opening, "opening_hash" | "leaf" | "entry">
