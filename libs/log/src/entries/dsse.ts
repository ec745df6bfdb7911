/** DSSE envelopes (secure-systems-lab/dsse, protocol and envelope v1.0) with one signature of a P-256 key. */
import { concatBytes, type DeepReadonly, decodeBase64, encodeBase64, sha256, utf8Encode } from "@runseal/canonical"
import * as v from "valibot"
import { verifyEcdsaP256 } from "#signatures"
import { isLowS, toLowS } from "../keys/ecdsa-der.ts"
import { parseP256Spki } from "../keys/spki.ts"
import { base64Schema, MAX_SIGNATURE_BYTES } from "./log-entry.ts"
import type { SignEcdsaP256 } from "./log-signing.ts"

/** Bytes of a payload: a statement of ours takes some 1,500. */
const MAX_PAYLOAD_BYTES = 16_384
const MAX_PAYLOAD_TYPE_LENGTH = 128

/** The shape of an envelope: exactly one signature, every size bounded. What it says is for its reader. */
export const dsseEnvelopeSchema = v.strictObject({
  /** Base64 of the bytes that are signed. */
  payload: base64Schema(1, MAX_PAYLOAD_BYTES),
  /** Media type of the payload. */
  payloadType: v.pipe(v.string(), v.maxLength(MAX_PAYLOAD_TYPE_LENGTH)),
  /** Exactly one. */
  signatures: v.pipe(
    v.array(
      v.strictObject({
        /** `dsseKeyId` of the key: a hint, which only the signature confirms. */
        keyid: v.pipe(v.string(), v.regex(/^SHA256:[A-Za-z0-9+/]{43}$/, "must be an OpenSSH fingerprint")),
        /** Base64 of an ECDSA P-256 signature with SHA-256, DER. */
        sig: base64Schema(1, MAX_SIGNATURE_BYTES),
      }),
    ),
    v.length(1, "must be one signature"),
  ),
})
export type DsseEnvelope = DeepReadonly<v.InferOutput<typeof dsseEnvelopeSchema>>

/** The pre-authentication encoding: what is signed of a payload. It begins with `DSSEv1`, as no leaf and no note does. */
export function preAuthenticationEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = utf8Encode(payloadType)
  return concatBytes(utf8Encode(`DSSEv1 ${type.length} `), type, utf8Encode(` ${payload.length} `), payload)
}

/**
 * OpenSSH's SHA-256 fingerprint of a P-256 key, as `ssh-keygen -l` prints it: the key id that in-toto's Go libraries, cosign's among
 * them, give a bare public key, and without which they pass a signature over. Undefined for any other key.
 */
export function dsseKeyId(spki: Uint8Array): string | undefined {
  const point = parseP256Spki(spki)
  if (point === undefined) return undefined
  const blob = [utf8Encode("ecdsa-sha2-nistp256"), utf8Encode("nistp256"), point].map(sshString)
  return `SHA256:${encodeBase64(sha256(concatBytes(...blob))).replace(/=$/, "")}`
}

/** A `string` of RFC 4251 §5; none here is longer than 255 bytes. */
const sshString = (bytes: Uint8Array): Uint8Array => concatBytes(Uint8Array.of(0, 0, 0, bytes.length), bytes)

/** Signs a payload, low-S. Throws RangeError for a key that is no P-256 key, or that returns no DER signature. */
export function signEnvelope(
  payloadType: string,
  payload: Uint8Array,
  key: { readonly spki: Uint8Array; readonly sign: SignEcdsaP256 },
): DsseEnvelope {
  const keyid = dsseKeyId(key.spki)
  if (keyid === undefined) throw new RangeError("An envelope is signed with an ECDSA P-256 key.")
  const signature = toLowS(key.sign(preAuthenticationEncoding(payloadType, payload)))
  return {
    payload: encodeBase64(payload),
    payloadType,
    signatures: [{ keyid, sig: encodeBase64(signature) }],
  }
}

/** Whether the envelope's signature is this key's, low-S, over its payload. Never throws. */
export function isSignedBy({ payload, payloadType, signatures }: DsseEnvelope, spki: Uint8Array): boolean {
  const [bytes, signature] = [decodeBase64(payload), decodeBase64(signatures[0]?.sig ?? "")]
  if (bytes === undefined || signature === undefined || !isLowS(signature)) return false
  return verifyEcdsaP256(spki, preAuthenticationEncoding(payloadType, bytes), signature)
}
