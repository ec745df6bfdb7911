/** A permit and its opening: the sealed document verifies offline, and says what the permit says. */
import { canonicalize, type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { type Opening, openingSchema } from "@runseal/core/artifacts/opening"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { leafDigest } from "@runseal/core/formulas/leaves"
import { VERDICTS } from "@runseal/core/verify/report"
import { verifyOpening } from "@runseal/core/verify/verify-opening"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type PermitClaims, permitClaims } from "./permit-claims.ts"
import type { PermitRefusal } from "./permit-refusals.ts"

/** Why the opening does not carry the permit; undefined when it does. @param opening the document, or its JSON text */
export function openingProblem(
  opening: JsonObject | string,
  claims: PermitClaims,
  trust: TrustedKeys,
): PermitRefusal | undefined {
  const parsed = parseExact(openingSchema, typeof opening === "string" ? jsonOf(opening) : opening)
  if (!parsed.ok || verifyOpening(parsed.value, [trust]).verdict !== VERDICTS.opening) return "opening_invalid"
  return canonicalize(openingClaims(parsed.value, claims.iss)) === canonicalize(claims) ? undefined : "opening_differs"
}

/** The claims of the permit that an opening gives. @param issuer origin of the service's log */
export function openingClaims(opening: Opening, issuer: string): PermitClaims {
  const { audience, tenant_id, permit_id, expires_at, redeem_required = false, leaf, entry } = opening
  const { admission_clock, program_id, route_id, enforcement } = opening.sections.envelope
  return permitClaims({
    issuer,
    audience,
    tenant_id,
    permit_id,
    admission_clock,
    expires_at,
    program_id,
    route_id,
    payload_hash: opening.sections.payload.payload_hash,
    reserve_tokens: opening.reservation.tokens,
    allow_token_hash: opening.allow_token.hash,
    redeem_required,
    enforcement,
    opening: { leaf_hash: leafDigest(leaf), log_id: entry.logId.keyId, log_index: entry.logIndex },
  })
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    return parseStrictJson(text)
  } catch {
    return undefined
  }
}
