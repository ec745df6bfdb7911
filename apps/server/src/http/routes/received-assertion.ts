/** What a browser sends of a passkey that signed. */
import { decodeBase64, encodeBase64 } from "@runseal/canonical"
import type { Passkey } from "@runseal/core/artifacts/passkey"
import { assertionProblem } from "@runseal/core/verify/assertion"
import { isStrictDerSignature, toLowS } from "@runseal/log/keys/ecdsa-der"
import { HttpError } from "../../http-error.ts"

/** Which key it is and where it signs, as the service pinned it. */
type Pinned = Pick<Passkey, "public_key" | "origin" | "rp_id">
type Sent = Omit<Passkey, keyof Pinned>

/**
 * The passkey with its signature of a challenge, as it is sealed. Authenticators write either of the two forms of a signature: it is stored with low S.
 * @param challenge 64 hex digits
 * @throws HttpError 403 where this key did not sign it here
 */
export function receivedAssertion(
  { public_key, origin, rp_id }: Pinned,
  { authenticator_data, client_data_json, signature }: Sent,
  challenge: string,
): Passkey {
  const der = decodeBase64(signature)
  const low = der !== undefined && isStrictDerSignature(der) ? encodeBase64(toLowS(der)) : signature
  const passkey = { public_key, origin, rp_id, authenticator_data, client_data_json, signature: low }
  const problem = assertionProblem(passkey, challenge)
  if (problem !== undefined)
    throw new HttpError("passkey_invalid", `The passkey ${problem}. Reload the page, and sign again.`)
  return passkey
}

/** The same sentence whosever the passkey is: it does not reveal which there are. */
export const passkeyNotCounted = (): HttpError =>
  new HttpError(
    "passkey_invalid",
    "You have no such passkey that counts: it is another's, does not count yet, or is revoked. GET /passkeys shows yours.",
  )
