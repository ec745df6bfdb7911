/**
 * The end of permits whose runs were not closed: their reservations are released, and no run came of them. docs/formats.md
 * section 7.9.
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
import { PERMIT_END_KIND } from "../vocabulary/versions.ts"
import { permitEndLeafSchema } from "./anchor.ts"

/** Openings that one document ends. */
export const ENDED_OPENINGS_MAX = 256

/** Why openings end: nobody closed them in time, or the API key behind them was revoked. */
export const END_REASONS = ["expired", "revoked"] as const
export type EndReason = (typeof END_REASONS)[number]

const endedOpening = v.strictObject({
  permit_id: permitIdSchema,
  opening_hash: sha256Schema,
  window_seconds: ordinalSchema,
  window_start: clockSchema,
  /** Number of the movement in its window that releases the reservation. */
  ordinal: ordinalSchema,
  /** Tokens that were reserved. */
  released: countSchema,
  total_after: countSchema,
})
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

/** An end before its own hash. */
export type PermitEndBody = Omit<PermitEnd, "end_hash" | "leaf" | "entry">
