import { decodeBase64, decodeHex, encodeBase64, type JsonObject } from "@runseal/canonical"
import { keyIdOfSpki } from "../keys/spki.ts"
import type { DsseEnvelope } from "./dsse.ts"
import { parseEntryBody, type TiledLogEntry, type TransparencyLogEntry } from "./log-entry.ts"

const MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"

/**
 * A Sigstore bundle v0.3 (protobuf-JSON `dev.sigstore.bundle.v1.Bundle`) of one profile-A entry: what other tools verify
 * beside the leaf's bytes, the service's public key and a trusted root. It repeats the entry's own digest and signature and
 * adds nothing; whether they are right is for `checkEntry`. Undefined for an entry whose body names no public key.
 */
export const sigstoreBundle = (entry: TransparencyLogEntry): JsonObject | undefined =>
  bundleOf(entry.canonicalizedBody, { tlogEntries: [entry] })

/**
 * The same of an entry of a Rekor v2 log, with the timestamp that says its time.
 * @param timestamp base64 of the TimeStampResp
 * @param ownBody base64 of the body in the service's own log, which has the same digest, signature and key
 */
export const tiledSigstoreBundle = (entry: TiledLogEntry, timestamp: string, ownBody: string): JsonObject | undefined =>
  bundleOf(ownBody, {
    tlogEntries: [entry],
    timestampVerificationData: { rfc3161Timestamps: [{ signedTimestamp: timestamp }] },
  })

function bundleOf(ownBody: string, material: JsonObject): JsonObject | undefined {
  const bodyBytes = decodeBase64(ownBody)
  const body = bodyBytes && parseEntryBody(bodyBytes)
  const digest = body && decodeHex(body.digestHex)
  if (body?.spkiDer === undefined || digest === undefined) return undefined
  return {
    mediaType: MEDIA_TYPE,
    verificationMaterial: { publicKey: { hint: encodeBase64(keyIdOfSpki(body.spkiDer)) }, ...material },
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
