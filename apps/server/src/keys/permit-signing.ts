/** Permits are signed with the service key, and checked with the service keys that are in force. docs/api.md, "Permits". */
import { encodeBase64 } from "@runseal/canonical"
import type { Opening } from "@runseal/core/artifacts/opening"
import { leafDigest } from "@runseal/core/formulas/leaves"
import type { Jwks } from "@runseal/core/wire/permit-answers"
import { parseP256Spki } from "@runseal/log/keys/spki"
import { permitClaims } from "@runseal/permit"
import { signPermit } from "@runseal/permit/sign-permit"
import type { SigningKeyRow } from "../store/tables/signing-keys.ts"
import type { EcdsaKey } from "./ecdsa-keys.ts"

/** Signs the permit of an opening. The claims are the same each time; the signature is not. */
export type SignOpening = (opening: Opening) => Promise<string>

/**
 * @param issuer origin of the service's log
 * @returns undefined where a remote signer holds the service key
 */
export function permitSigning({ privateKey, keyId }: EcdsaKey, issuer: string): SignOpening | undefined {
  if (privateKey === undefined) return undefined
  return ({ sections, leaf, entry, reservation, allow_token, redeem_required, ...opening }) => {
    const { program_id, route_id, payload_hash, admission_clock } = sections.envelope
    const claims = permitClaims({
      issuer,
      audience: opening.audience,
      tenant_id: opening.tenant_id,
      permit_id: opening.permit_id,
      admission_clock,
      expires_at: opening.expires_at,
      program_id,
      route_id,
      payload_hash,
      reserve_tokens: reservation.tokens,
      allow_token_hash: allow_token.hash,
      redeem_required: redeem_required === true,
      opening: { leaf_hash: leafDigest(leaf), log_id: entry.logId.keyId, log_index: entry.logIndex },
    })
    return signPermit(claims, privateKey, keyId)
  }
}

/** The service keys in force, as executors read them. A key that was replaced or revoked is none of them. */
export const serviceJwks = (keys: readonly SigningKeyRow[]): Jwks => ({
  keys: keys
    .filter(({ role, valid_to, revoked_from }) => role === "service" && valid_to === 0 && revoked_from === 0)
    .flatMap(({ key_id, spki }) => {
      // 0x04, then both coordinates (SEC 1 §2.3.3).
      const point = parseP256Spki(spki)
      if (point === undefined) return []
      const [x, y] = [base64url(point.subarray(1, 33)), base64url(point.subarray(33))]
      return [{ kty: "EC", crv: "P-256", x, y, kid: key_id, alg: "ES256", use: "sig" } as const]
    }),
})

const base64url = (bytes: Uint8Array): string =>
  encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
