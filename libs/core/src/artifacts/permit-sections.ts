/** The redemption of a permit, and the two sections that the record of a close has beside those of its opening. docs/formats.md sections 2.5 and 7.11. */
import type { JsonObject } from "@runseal/canonical"
import { transparencyLogEntrySchema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"
import { clockSchema, decimalSchema, permitIdSchema, type Shape, sha256Schema } from "../vocabulary/scalars.ts"
import { type DeclaredSection, declaredKind } from "./declared-sections.ts"
import { jsonObjectSchema } from "./json-object-schema.ts"
import { section } from "./section-shape.ts"

/** What became of a permitted act, as the caller reports it. */
export const ACT_OUTCOMES = ["completed", "failed"] as const
export type ActOutcome = (typeof ACT_OUTCOMES)[number]

/** Why a permitted act failed, as the caller reports it. */
export const ACT_FAILURE_CODES = ["NOT_EXECUTED", "EXECUTOR_REFUSED", "EXECUTOR_FAILED", "TIMED_OUT"] as const
export type ActFailureCode = (typeof ACT_FAILURE_CODES)[number]

/** That a permit was redeemed, and the entry of the leaf that says so: the leaf follows from the permit and this clock. */
export const redemptionSchema = v.strictObject({ redeemed_clock: clockSchema, entry: transparencyLogEntrySchema })
export type Redemption = Shape<typeof redemptionSchema>

/** Which opening a run closes, and what became of the act. It is never withheld. */
export const PERMIT_USE_SCHEMA = section("vfa.permit_use.v1", {
  permit_id: permitIdSchema,
  /** Digest of the opening's leaf. */
  opening_leaf_digest: sha256Schema,
  /** Log index of the opening's entry. */
  opening_log_index: decimalSchema,
  outcome: v.picklist(ACT_OUTCOMES),
  /** Present exactly when the act failed. */
  code: v.exactOptional(v.picklist(ACT_FAILURE_CODES)),
  /** Admission clock of the close: the instant at which the run is decided. Never before that of its opening. */
  closed_clock: clockSchema,
  /** Absent when the permit was not redeemed. */
  redemption: v.exactOptional(redemptionSchema),
})
export type PermitUseSection = Shape<typeof PERMIT_USE_SCHEMA>

/** The members of `request_substance` that a close may declare: what is not known before the act. */
export const CLOSING_SUBSTANCE_MEMBERS = ["output", "post_processing", "cost", "latency"] as const

/** The sections of the opening that a close may add members to. */
export const CLOSING_PARTS = ["request_substance", "causal_graph", "reproducibility_context"] as const
export type ClosingPart = (typeof CLOSING_PARTS)[number]
/** What a close declares, by the section that it adds to. */
export type ClosingDeclared = { readonly [Part in ClosingPart]?: JsonObject }

const closingSubstance = v.pipe(
  jsonObjectSchema,
  v.check(
    value => Object.keys(value).every(name => CLOSING_SUBSTANCE_MEMBERS.some(known => known === name)),
    "has a member that only an opening declares",
  ),
  v.metadata({ propertyNames: { enum: [...CLOSING_SUBSTANCE_MEMBERS] } }),
)
const closingDeclared: v.GenericSchema<unknown, JsonObject> = v.strictObject({
  request_substance: v.exactOptional(closingSubstance),
  causal_graph: v.exactOptional(jsonObjectSchema),
  reproducibility_context: v.exactOptional(jsonObjectSchema),
})

const kind = v.literal(declaredKind("closing"))
/** What a close declares, with a salt of its own. It can be withheld as the six declared sections can. */
export const CLOSING_SCHEMA: v.GenericSchema<unknown, DeclaredSection> = v.union([
  v.strictObject({ kind, salt: sha256Schema, declared: v.exactOptional(closingDeclared), hash: sha256Schema }),
  v.strictObject({ kind, withheld: v.literal(true), hash: sha256Schema }),
])
