/**
 * `POST /permits`, `POST /permits/{id}/close` and `POST /permits/{id}/redeem` on the wire, and the states of a permit.
 * docs/api.md, "Permits". What is sealed is the received value itself, never a schema's output.
 */
import * as v from "valibot"
import { jsonObjectSchema } from "../artifacts/json-object-schema.ts"
import {
  AUDIENCE_MAX_LENGTH,
  CLOSE_SECONDS_MAX,
  CLOSE_SECONDS_MIN,
  REDEEMED_VALID_SECONDS_MAX,
  VALID_SECONDS_MAX,
} from "../artifacts/opening.ts"
import { ACT_FAILURE_CODES, ACT_OUTCOMES } from "../artifacts/permit-sections.ts"
import { countSchema, lineSchema, type Shape } from "../vocabulary/scalars.ts"
import {
  declared,
  EXECUTE_MEMBERS,
  hasPayload,
  ONE_PAYLOAD,
  opt,
  PAYLOAD_REQUIRED,
  REQUEST_SUBSTANCE,
} from "./execute-request.ts"

/** Seconds for which a permit may be acted on, and then be closed, where the request names none. */
export const VALID_SECONDS_DEFAULT = 300
export const CLOSE_SECONDS_DEFAULT = 300
/** Longest permit that is read, in characters: longer than any that the service signs. */
export const PERMIT_MAX_LENGTH = 16_384

/** `closed`: a run was sealed for it. `ended`: none came in time, or its key was revoked. `refused`: a gate refused its opening, or a stage of it failed. */
export const PERMIT_STATES = ["open", "closed", "ended", "refused"] as const
export type PermitState = (typeof PERMIT_STATES)[number]

/** A member that a body may not have. */
const refused = (message: string) => v.exactOptional(v.never(message))
const seconds = (min: number, max: number) =>
  v.exactOptional(
    v.pipe(
      v.number(),
      v.integer("must be whole seconds"),
      v.minValue(min, `must be at least ${min}`),
      v.maxValue(max, `must be at most ${max}`),
    ),
  )

const AT_CLOSE = "is not known before the act: it belongs to the close of the permit"
const { request_substance: _substance, ai_output_text: _output, ...atOpening } = EXECUTE_MEMBERS
/** What is declared before the act: everything but its cost. */
const openingSubstance = v.looseObject({ ...REQUEST_SUBSTANCE, cost: opt(v.never(AT_CLOSE)) })

/** The body of `POST /permits`, without top-level members that are null. Unknown top-level members are ignored, and the answer names them. */
export const openPermitRequestSchema = v.pipe(
  v.object({
    ...atOpening,
    request_substance: v.exactOptional(declared(openingSubstance)),
    ai_output_text: refused(AT_CLOSE),
    /** Tokens that are reserved in the tenant's window until the close. */
    reserve_tokens: countSchema,
    /** Who is to act: the claim `aud` of the permit. */
    audience: lineSchema(AUDIENCE_MAX_LENGTH),
    valid_for_seconds: seconds(1, REDEEMED_VALID_SECONDS_MAX),
    close_within_seconds: seconds(CLOSE_SECONDS_MIN, CLOSE_SECONDS_MAX),
    /** The act is permitted once, to the party that redeems the permit first. */
    redeem_required: v.exactOptional(v.boolean()),
  }),
  v.check(request => hasPayload(request), PAYLOAD_REQUIRED),
  v.forward(
    v.check(
      ({ valid_for_seconds = 0, redeem_required }) =>
        valid_for_seconds <= VALID_SECONDS_MAX || redeem_required === true,
      `must be at most ${VALID_SECONDS_MAX} unless redeem_required is true`,
    ),
    ["valid_for_seconds"],
  ),
  v.metadata({
    anyOf: ONE_PAYLOAD,
    if: { not: { properties: { redeem_required: { const: true } }, required: ["redeem_required"] } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { valid_for_seconds: { type: "integer", maximum: VALID_SECONDS_MAX } } },
    description: `As the body of POST /execute, without what is known only after the act. valid_for_seconds is ${VALID_SECONDS_DEFAULT} and close_within_seconds ${CLOSE_SECONDS_DEFAULT} where they are absent.`,
  }),
)
export type OpenPermitRequest = Shape<typeof openPermitRequestSchema>

const { output, post_processing, cost, latency } = REQUEST_SUBSTANCE
const closingSubstance = v.strictObject({ output, post_processing, cost, latency })

/**
 * The body of `POST /permits/{id}/close`, without members that are null. Any other member is refused: nothing can be approved after the
 * act, and a close cannot be taken back.
 */
export const closePermitRequestSchema = v.pipe(
  v.strictObject({
    outcome: v.picklist(ACT_OUTCOMES, 'must be "completed" or "failed"'),
    code: v.exactOptional(v.picklist(ACT_FAILURE_CODES)),
    ai_output_text: EXECUTE_MEMBERS.ai_output_text,
    request_substance: v.exactOptional(declared(closingSubstance)),
    causal_graph: EXECUTE_MEMBERS.causal_graph,
    reproducibility_context: v.exactOptional(jsonObjectSchema),
  }),
  v.forward(
    v.check(
      ({ outcome, code }) => (outcome === "failed") === (code !== undefined),
      "must be present when outcome is failed, and only then",
    ),
    ["code"],
  ),
  v.metadata({
    oneOf: [
      { properties: { outcome: { const: "completed" }, code: false } },
      { properties: { outcome: { const: "failed" } }, required: ["code"] },
    ],
  }),
)
export type ClosePermitRequest = Shape<typeof closePermitRequestSchema>

/** The body of `POST /permits/{id}/redeem`: the permit itself, which is the credential. */
export const redeemPermitRequestSchema = v.strictObject({
  permit: v.pipe(
    v.string(),
    v.minLength(1, "must not be empty"),
    v.maxLength(PERMIT_MAX_LENGTH, `must have at most ${PERMIT_MAX_LENGTH} characters`),
  ),
})
export type RedeemPermitRequest = Shape<typeof redeemPermitRequestSchema>
