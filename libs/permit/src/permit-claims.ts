/** What a permit states: the claims of a JWT (RFC 7519), read exactly. */

import { AUDIENCE_MAX_LENGTH } from "@runseal/core/artifacts/opening"
import {
  clockSeconds,
  countSchema,
  decimalSchema,
  type Enforcement,
  enforcementSchema,
  lineSchema,
  nonEmptySchema,
  permitIdSchema,
  routeIdSchema,
  type Shape,
  sha256Schema,
  tenantIdSchema,
} from "@runseal/core/vocabulary/scalars"
import { base64Schema } from "@runseal/log/entries/log-entry"
import * as v from "valibot"

/** The one algorithm of permits: ECDSA P-256 with SHA-256 (RFC 7518 §3.4), by the service key. */
export const PERMIT_ALGORITHM = "ES256"
/** `typ` of a permit's header (RFC 8725 §3.11): no other token of anybody passes for one. */
export const PERMIT_TYPE = "runseal-permit+jwt"
/** The header of a request that acts under a permit. */
export const PERMIT_HEADER = "Runseal-Permit"
/** Bytes of a log's id: SHA-256 of its key. */
const LOG_ID_BYTES = 32

/** Exactly these members; `aud` is one text, so that a permit is for one who acts. Times are Unix seconds. */
export const permitClaimsSchema = v.strictObject({
  /** Origin of the service's log, which its trust document names. */
  iss: nonEmptySchema,
  /** Who is to act. */
  aud: lineSchema(AUDIENCE_MAX_LENGTH),
  /** Whose run it is: `anonymous` or `api-key-<number>`. */
  sub: tenantIdSchema,
  /** The permit's id. */
  jti: permitIdSchema,
  /** When the request was admitted. */
  iat: countSchema,
  nbf: countSchema,
  /** From this second on the permit allows nothing. */
  exp: countSchema,
  runseal: v.strictObject({
    program_id: sha256Schema,
    route_id: routeIdSchema,
    /** SHA-256 of the payload, unsalted. */
    payload_hash: sha256Schema,
    reserve_tokens: countSchema,
    allow_token_hash: sha256Schema,
    /** The act needs a redemption, which happens once. */
    redeem_required: v.exactOptional(v.literal(true)),
    /** The decision was only observed: a refusal would have stopped nothing. Absent: it was enforced. */
    enforcement: v.exactOptional(enforcementSchema),
    /** The opening in the log: digest of its leaf, and its entry. */
    opening: v.strictObject({
      leaf_hash: sha256Schema,
      log_id: base64Schema(LOG_ID_BYTES, LOG_ID_BYTES),
      log_index: decimalSchema,
    }),
  }),
})
export type PermitClaims = Shape<typeof permitClaimsSchema>

/** What an admitted opening knows; clocks are RFC 3339 UTC with milliseconds. */
export type PermitFacts = {
  /** Origin of the service's log. */
  readonly issuer: string
  readonly audience: string
  readonly tenant_id: string
  readonly permit_id: string
  readonly admission_clock: string
  readonly expires_at: string
  readonly program_id: string
  readonly route_id: string
  readonly payload_hash: string
  readonly reserve_tokens: number
  readonly allow_token_hash: string
  readonly redeem_required: boolean
  readonly enforcement?: Enforcement | undefined
  readonly opening: PermitClaims["runseal"]["opening"]
}

/** The claims of a permit. Both times are rounded down to seconds. @throws RangeError for a clock in another spelling */
export const permitClaims = (facts: PermitFacts): PermitClaims => {
  const admitted = secondsOf(facts.admission_clock)
  const { program_id, route_id, payload_hash, reserve_tokens, allow_token_hash, opening } = facts
  const { redeem_required, enforcement } = facts
  return {
    iss: facts.issuer,
    aud: facts.audience,
    sub: facts.tenant_id,
    jti: facts.permit_id,
    iat: admitted,
    nbf: admitted,
    exp: secondsOf(facts.expires_at),
    runseal: {
      program_id,
      route_id,
      payload_hash,
      reserve_tokens,
      allow_token_hash,
      ...(redeem_required && { redeem_required }),
      ...(enforcement === undefined ? {} : { enforcement }),
      opening,
    },
  }
}

function secondsOf(clock: string): number {
  const seconds = clockSeconds(clock)
  if (seconds === undefined) throw new RangeError("a permit's clock is RFC 3339 UTC with milliseconds")
  return seconds
}
