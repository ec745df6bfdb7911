/** Answers of the endpoints of permits, as strict as this release writes them. docs/api.md, "Permits". */
import * as v from "valibot"
import { openingSchema } from "../artifacts/opening.ts"
import { permitEndSchema } from "../artifacts/permit-end.ts"
import { ACT_OUTCOMES } from "../artifacts/permit-sections.ts"
import {
  clockSchema,
  countSchema,
  nonEmptySchema,
  ordinalSchema,
  permitIdSchema,
  routeIdSchema,
  type Shape,
  sha256Schema,
} from "../vocabulary/scalars.ts"
import { ignoredSchema } from "./ignored-members.ts"
import { PERMIT_MAX_LENGTH, PERMIT_STATES } from "./permit-requests.ts"
import { PAGE_LIMIT_MAX } from "./run-summaries.ts"

const opt = v.exactOptional
const ok = { ok: v.literal(true) }
/** The permit as a JWT: three parts in base64url. */
const permitSchema = v.pipe(
  v.string(),
  v.maxLength(PERMIT_MAX_LENGTH),
  v.regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, "must be a JWT in its compact form"),
)

export const openPermitAnswerSchema = v.strictObject({
  ...ok,
  permit_id: permitIdSchema,
  /** Absent from a repetition of an answer once the permit has expired, or is not open any more. */
  permit: opt(permitSchema),
  /** The sealed opening, which verifies by itself. */
  opening: openingSchema,
  expires_at: clockSchema,
  close_by: clockSchema,
  ignored: ignoredSchema,
})
/** Status 201 of `POST /permits`. */
export type OpenPermitAnswer = Shape<typeof openPermitAnswerSchema>

export const redeemPermitAnswerSchema = v.strictObject({
  ...ok,
  permit_id: permitIdSchema,
  redeemed_at: clockSchema,
})
/** `POST /permits/{id}/redeem`. */
export type RedeemPermitAnswer = Shape<typeof redeemPermitAnswerSchema>

const summary = {
  permit_id: permitIdSchema,
  state: v.picklist(PERMIT_STATES),
  audience: nonEmptySchema,
  route_id: routeIdSchema,
  program_id: sha256Schema,
  reserve_tokens: countSchema,
  opened_at: clockSchema,
  expires_at: clockSchema,
  close_by: clockSchema,
  redeem_required: v.boolean(),
  redeemed_at: opt(clockSchema),
  /** Of the run that closed it, or as which it was refused. */
  run_id: opt(ordinalSchema),
  /** What became of the act, as its close reports it. */
  closing_outcome: opt(v.picklist(ACT_OUTCOMES)),
}
export const permitSummarySchema = v.strictObject(summary)
/** A permit in a list. */
export type PermitSummary = Shape<typeof permitSummarySchema>

export const permitsPageSchema = v.strictObject({
  ...ok,
  total: countSchema,
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(PAGE_LIMIT_MAX)),
  offset: countSchema,
  permits: v.pipe(v.array(permitSummarySchema), v.maxLength(PAGE_LIMIT_MAX)),
  /** Where the next page begins, where there may be more: to be sent back as it is. */
  next: opt(nonEmptySchema),
})
/** `GET /permits`: newest first. */
export type PermitsPage = Shape<typeof permitsPageSchema>

export const permitRecordSchema = v.strictObject({
  ...ok,
  ...summary,
  /** The sealed documents: of a permit that was opened, and of one that ended. */
  opening: opt(openingSchema),
  end: opt(permitEndSchema),
})
/** `GET /permits/{id}`. */
export type PermitRecord = Shape<typeof permitRecordSchema>

const coordinate = v.pipe(v.string(), v.regex(/^[\w-]{43}$/))
export const jwksSchema = v.strictObject({
  keys: v.array(
    v.strictObject({
      kty: v.literal("EC"),
      crv: v.literal("P-256"),
      x: coordinate,
      y: coordinate,
      kid: nonEmptySchema,
      alg: v.literal("ES256"),
      use: v.literal("sig"),
    }),
  ),
})
/** `GET /.well-known/jwks.json` (RFC 7517): the service keys in force, with which permits are signed. */
export type Jwks = Shape<typeof jwksSchema>
