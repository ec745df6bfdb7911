/**
 * A service key that a remote signer holds. The signer speaks the HTTP interface of a cloud KMS (Google Cloud KMS, `publicKey` and
 * `asymmetricSign` of a key version) and sees digests only. It is not trusted: a signature counts once it verifies with the public key
 * that was pinned.
 */

import { createPublicKey, verify } from "node:crypto"
import { readFileSync } from "node:fs"
import { decodeBase64, encodeBase64, type JsonValue, parseStrictJson, sha256, utf8Decode } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { isStrictDerSignature, toLowS } from "@runseal/log/keys/ecdsa-der"
import { parseP256Spki, pemToSpki } from "@runseal/log/keys/spki"
import type { RemoteSigner } from "../options/table.ts"
import { askWithRetries } from "../outbound/ask.ts"
import type { EcdsaKey } from "./ecdsa-keys.ts"

/** One attempt, its whole answer included, in milliseconds. */
const ATTEMPT_DEADLINE_MS = 3000
/** All signatures of one call: the log's head is locked meanwhile. */
const SIGNING_DEADLINE_MS = 10_000
/** Attempts after the first, and only after no answer, 429 or 5xx. */
export const SIGNER_RETRIES_MAX = 2
const RETRIES = {
  most: SIGNER_RETRIES_MAX,
  firstWaitMs: 100,
  longestWaitMs: SIGNING_DEADLINE_MS,
  attemptMs: ATTEMPT_DEADLINE_MS,
}
/** Requests under way at once. */
export const MAX_REQUESTS = 16
/** Messages of one call: more than the leaves of one kind in a batch. */
export const MAX_MESSAGES = 1024
/** Bytes of an answer, after any content encoding is undone. A signature is some 100. */
const SIGNATURE_ANSWER_MAX_BYTES = 16_384
/** Bytes of a bearer token. */
const MAX_TOKEN_BYTES = 16_384

/** Why there is no signature, in a sentence of this service; no text of the signer is passed on. */
export class SignerFailure extends Error {
  override readonly name = "SignerFailure"
}

/** The sentence for callers. */
export const SIGNER_AWAY =
  "The signer of the service key does not sign now; nothing was acknowledged. Try again; if it stays so, its operator has to find the cause."

/** The public key of a signer, DER. @throws SignerFailure */
export async function fetchPublicKey(signer: RemoteSigner): Promise<Uint8Array> {
  const answer = await exchange(signer, "/publicKey", undefined, AbortSignal.timeout(SIGNING_DEADLINE_MS))
  const spki = pemToSpki(textMember(answer, "pem") ?? "")
  if (spki === undefined || parseP256Spki(spki) === undefined)
    throw new SignerFailure("The signer's public key is no ECDSA P-256 key in PEM.")
  return spki
}

/** The key of a signer. @param key its pinned public half; a signature that does not verify with it is refused */
export function remoteKey(signer: RemoteSigner, key: Pick<EcdsaKey, "spki" | "id" | "keyId">): EcdsaKey {
  const publicKey = createPublicKey({ key: Buffer.from(key.spki), format: "der", type: "spki" })
  const signOne = async (message: Uint8Array, signal: AbortSignal): Promise<Uint8Array> => {
    const body = JSON.stringify({ digest: { sha256: encodeBase64(sha256(message)) } })
    const answer = await exchange(signer, ":asymmetricSign", body, signal)
    const der = decodeBase64(textMember(answer, "signature") ?? "")
    if (der === undefined || !isStrictDerSignature(der) || !verify("sha256", message, publicKey, der))
      throw new SignerFailure("The signer's answer is no signature of the pinned service key.")
    return toLowS(der)
  }
  return {
    ...key,
    isElsewhere: true,
    signAll: async messages => {
      if (messages.length > MAX_MESSAGES)
        throw new SignerFailure(`At most ${MAX_MESSAGES} signatures are asked for at once.`)
      const signal = AbortSignal.timeout(SIGNING_DEADLINE_MS)
      const signatures: Uint8Array[] = []
      const left = messages.entries()
      const work = async (): Promise<void> => {
        for (const [at, message] of left) signatures[at] = await signOne(message, signal)
      }
      await Promise.all(Array.from({ length: Math.min(MAX_REQUESTS, messages.length) }, work))
      return signatures
    },
  }
}

/** The JSON of a 2xx answer. @param body of a POST request; absent: a GET */
async function exchange(
  { url, tokenFile }: RemoteSigner,
  path: string,
  body: string | undefined,
  signal: AbortSignal,
): Promise<JsonValue> {
  const token = tokenFile === undefined ? undefined : readToken(tokenFile)
  const headers = {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const question = { ...(body === undefined ? {} : { body }), headers, maxBytes: SIGNATURE_ANSWER_MAX_BYTES, signal }
  const answer = await askWithRetries(`${url}${path}`, question, RETRIES)
  if (answer === undefined) throw new SignerFailure("The signer gave no whole answer in time.")
  const { status, bytes } = answer
  if (status === 429 || status >= 500) throw new SignerFailure(`The signer answered ${status}.`)
  if (status < 200 || status > 299) throw new SignerFailure(`The signer refused with ${status}.`)
  return parseAnswer(bytes)
}

function parseAnswer(bytes: Uint8Array | undefined): JsonValue {
  try {
    if (bytes !== undefined && utf8Decode(bytes) !== undefined) return parseStrictJson(bytes)
  } catch {
    // The failure below names the fault and quotes nothing of the answer.
  }
  throw new SignerFailure("The signer's answer is no JSON of a signature's size.")
}

function readToken(tokenFile: string): string {
  let token = ""
  try {
    token = readFileSync(tokenFile, "latin1").trim()
  } catch {
    throw new SignerFailure("The file of the signer's token cannot be read.")
  }
  if (!/^[\x21-\x7e]+$/.test(token) || token.length > MAX_TOKEN_BYTES)
    throw new SignerFailure("The file of the signer's token holds no token.")
  return token
}
