import { decodeBase64, decodeHex, encodeBase64, type JsonObject } from "@runseal/canonical"
import type { DsseEnvelope } from "./dsse.ts"
import { parseEntryBody, type TransparencyLogEntry } from "./log-entry.ts"
import { keyIdOfSpki } from "./spki.ts"

const MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"

/**
 * A Sigstore bundle v0.3 (protobuf-JSON `dev.sigstore.bundle.v1.Bundle`) of one profile-A entry: what other tools verify
 * beside the leaf's bytes, the service's public key and a trusted root. It repeats the entry's own digest and signature and
 * adds nothing; whether they are right is for `checkEntry`. Undefined for an entry whose body names no public key.
 */
export function sigstoreBundle(entry: TransparencyLogEntry): JsonObject | undefined {
  const bodyBytes = decodeBase64(entry.canonicalizedBody)
  const body = bodyBytes && parseEntryBody(bodyBytes)
  const digest = body && decodeHex(body.digestHex)
  if (body?.spkiDer === undefined || digest === undefined) return undefined
  return {
    mediaType: MEDIA_TYPE,
    verificationMaterial: {
      publicKey: { hint: encodeBase64(keyIdOfSpki(body.spkiDer)) },
      tlogEntries: [entry],
    },
    messageSignature: {
      messageDigest: { algorithm: "SHA2_256", digest: encodeBase64(digest) },
      signature: encodeBase64(body.signatureDer),
    },
  }
}

/** A Sigstore bundle v0.3 of an envelope that this key signed and no log holds. Whether it did is for `isSignedBy`. */
export const sigstoreEnvelopeBundle = (envelope: DsseEnvelope, spki: Uint8Array): JsonObject => ({
  mediaType: MEDIA_TYPE,
  verificationMaterial: { publicKey: { hint: encodeBase64(keyIdOfSpki(spki)) }, tlogEntries: [] },
  dsseEnvelope: envelope,
})
