/**
 * Whether a passkey signed a challenge, from the signed bytes alone: WebAuthn section 7.2, without what only its own server can know.
 * docs/formats.md section 2.8. Service, executors and verifiers call this one function.
 */
import {
  concatBytes,
  decodeBase64,
  decodeHex,
  encodeBase64Url,
  equalBytes,
  holdsNul,
  readStrictJson,
  sha256,
  utf8Encode,
} from "@runseal/canonical"
import { isLowS } from "@runseal/log/keys/ecdsa-der"
import { verifyEcdsaP256 } from "@runseal/log/keys/signatures"
import { type Passkey, passkeyHost } from "../artifacts/passkey.ts"
import { member } from "../vocabulary/json-members.ts"

/** SHA-256 of the relying party, flags, counter: WebAuthn section 6.1. */
const RP_ID_HASH_BYTES = 32
const BARE_DATA_BYTES = 37
const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const BACKUP_ELIGIBLE = 0x08
const BACKED_UP = 0x10
const ATTESTED_DATA = 0x40
const EXTENSIONS = 0x80

/**
 * What is wrong with an assertion, as the end of a sentence; undefined where the key signed the challenge at its own pages, and the person was there
 * and verified.
 * @param challenge 64 hex digits
 */
export function assertionProblem(passkey: Passkey, challenge: string): string | undefined {
  const { public_key, origin, rp_id, authenticator_data, client_data_json, signature } = passkey
  const parts = [public_key, authenticator_data, client_data_json, signature].map(decodeBase64)
  const [key, authenticatorData, clientData, der] = parts
  if (!(key && authenticatorData && clientData && der)) return "is not in base64"
  if (passkeyHost(origin) !== rp_id) return "is of another relying party than its origin"
  return (
    clientDataProblem(clientData, { origin, challenge }) ??
    authenticatorProblem(authenticatorData, rp_id) ??
    (isLowS(der) && verifyEcdsaP256(key, concatBytes(authenticatorData, sha256(clientData)), der)
      ? undefined
      : "has a signature that is not its key's")
  )
}

/** The challenge as browsers write it: base64url without padding, RFC 4648 section 5. */
export const challengeText = (challenge: string): string => encodeBase64Url(decodeHex(challenge) ?? new Uint8Array())

/** What the browser signed: members that it may add besides change nothing. */
function clientDataProblem(
  bytes: Uint8Array,
  { origin, challenge }: { readonly origin: string; readonly challenge: string },
): string | undefined {
  const json = readStrictJson(bytes)
  const crossOrigin = member(json, "crossOrigin")
  if (json === undefined || holdsNul(json)) return "has data of a browser that are no strict JSON"
  if (member(json, "type") !== "webauthn.get") return "is no signature of a challenge"
  if (member(json, "challenge") !== challengeText(challenge)) return "signed something else"
  if (member(json, "origin") !== origin) return "signed at another origin"
  if ((crossOrigin !== undefined && crossOrigin !== false) || member(json, "topOrigin") !== undefined)
    return "signed within a page of another origin"
  return undefined
}

function authenticatorProblem(bytes: Uint8Array, rp_id: string): string | undefined {
  const flags = bytes[RP_ID_HASH_BYTES] ?? 0
  const has = (flag: number): boolean => (flags & flag) !== 0
  if (!equalBytes(bytes.subarray(0, RP_ID_HASH_BYTES), sha256(utf8Encode(rp_id)))) return "is of another relying party"
  if (!has(USER_PRESENT) || !has(USER_VERIFIED)) return "was used without verifying its person"
  if (has(ATTESTED_DATA) || (has(BACKED_UP) && !has(BACKUP_ELIGIBLE))) return "has flags that exclude each other"
  if (bytes.length > BARE_DATA_BYTES !== has(EXTENSIONS)) return "has authenticator data of another length"
  return undefined
}
