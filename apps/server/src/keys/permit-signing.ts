/** Permits are signed with the service key, and checked with the keys of its JWKS document. docs/api.md, "Permits". */
import { encodeBase64Url } from "@runseal/canonical"
import { type Opening, REDEEMED_VALID_SECONDS_MAX } from "@runseal/core/artifacts/opening"
import type { Jwks } from "@runseal/core/wire/permit-answers"
import { parseP256Spki } from "@runseal/log/keys/spki"
import { openingClaims } from "@runseal/permit"
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
  return opening => signPermit(openingClaims(opening, issuer), privateKey, keyId)
}

/**
 * The service keys with which permits are checked, as executors read them: the one in force, and those that were replaced as long as a permit
 * of theirs may be valid. A revoked key is none of them.
 * @param now Unix seconds
 */
export const serviceJwks = (keys: readonly SigningKeyRow[], now: number): Jwks => ({
  keys: keys
    .filter(({ role, revoked_from }) => role === "service" && revoked_from === 0)
    .filter(({ valid_to }) => valid_to === 0 || now <= valid_to + REDEEMED_VALID_SECONDS_MAX)
    .flatMap(({ key_id, spki }) => {
      // 0x04, then both coordinates (SEC 1 §2.3.3).
      const point = parseP256Spki(spki)
      if (point === undefined) return []
      const [x, y] = [encodeBase64Url(point.subarray(1, 33)), encodeBase64Url(point.subarray(33))]
      return [{ kty: "EC", crv: "P-256", x, y, kid: key_id, alg: "ES256", use: "sig" } as const]
    }),
})
