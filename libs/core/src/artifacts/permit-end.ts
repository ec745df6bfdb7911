/**
 * The end of permits whose runs were not closed. No run came of them. What a permit reserved is released; where the permit was redeemed
 * the act was started, and it stays charged. docs/formats.md section 7.9.
 */
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import {
  clockSchema,
  countSchema,
  ordinalSchema,
  permitIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "../vocabulary/scalars.ts"
import { chainPlace } from "./anchor.ts"
import { type Redemption, redemptionSchema } from "./permit-sections.ts"

export const PERMIT_END_KIND = "vfa.permit_end.v1"
export const PERMIT_END_LEAF_VERSION = "vfa.permit_end_leaf.v1"

export const permitEndLeafSchema = v.strictObject({
  leaf_version: v.literal(PERMIT_END_LEAF_VERSION),
  end_hash: sha256Schema,
  ...chainPlace,
})
/** Anchors the end of openings that were not closed. */
export type PermitEndLeaf = Shape<typeof permitEndLeafSchema>

/** Openings that one document ends. */
export const ENDED_OPENINGS_MAX = 256

/** Why openings end: nobody closed them in time, or the API key behind them was revoked. */
export const END_REASONS = ["expired", "revoked"] as const
export type EndReason = (typeof END_REASONS)[number]

const ended = {
  permit_id: permitIdSchema,
  opening_hash: sha256Schema,
  window_seconds: ordinalSchema,
  window_start: clockSchema,
  /** Number of the movement in its window that releases or charges the reservation. */
  ordinal: ordinalSchema,
  total_after: countSchema,
}
const endedOpening = v.union([
  /** The tokens that were reserved are given back. */
  v.strictObject({ ...ended, released: countSchema }),
  /** The act was started, and nobody reported it: they stay in the window. */
  v.strictObject({ ...ended, charged: countSchema, redemption: redemptionSchema }),
])
export type EndedOpening = Shape<typeof endedOpening>

export const permitEndSchema = v.strictObject({
  kind: v.literal(PERMIT_END_KIND),
  tenant_id: tenantIdSchema,
  /** Opens the leaf's tenant_commitment. */
  tenant_salt: sha256Schema,
  reason: v.picklist(END_REASONS),
  end_clock: clockSchema,
  /** In the order of their movements. */
  openings: v.pipe(v.array(endedOpening), v.minLength(1), v.maxLength(ENDED_OPENINGS_MAX)),
  end_hash: sha256Schema,
  leaf: permitEndLeafSchema,
  entry: transparencyLogEntrySchema,
})
export type PermitEnd = Shape<typeof permitEndSchema>

/** What an ended opening adds to the total of its window. */
export const movedBy = (ended: EndedOpening): number => ("released" in ended ? 0 - ended.released : 0)

/** Tokens that an ended opening had reserved. */
export const reservedBy = (ended: EndedOpening): number => ("released" in ended ? ended.released : ended.charged)

/** The redemption of an ended opening; undefined when it was not redeemed. */
export const redemptionOf = (ended: EndedOpening): Redemption | undefined =>
  "released" in ended ? undefined : ended.redemption

/** An end before its own hash. */
export type PermitEndBody = Omit<PermitEnd, "end_hash" | "leaf" | "entry">
