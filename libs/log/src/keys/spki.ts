import { concatBytes, decodeBase64, decodeHex, encodeBase64, equalBytes, sha256, utf8Encode } from "@runseal/canonical"

/** Everything in a P-256 SubjectPublicKeyInfo before the point: id-ecPublicKey, prime256v1, BIT STRING (RFC 5480 §2). */
const P256_PREFIX = prefix("3059301306072a8648ce3d020106082a8648ce3d030107034200")
/** The same for Ed25519 (RFC 8410 §4). */
const ED25519_PREFIX = prefix("302a300506032b6570032100")
const ED25519_KEY_BYTES = 32
/** Signature type of C2SP signed-note. */
const ED25519_NOTE_TYPE = 0x01
/** 0x04 ‖ x ‖ y (SEC 1 §2.3.3); compressed points have no place in a profile-A entry. */
const UNCOMPRESSED_POINT_BYTES = 65
const UNCOMPRESSED_TAG = 0x04

const PEM_BEGIN = "-----BEGIN PUBLIC KEY-----\n"
const PEM_END = "-----END PUBLIC KEY-----\n"
const PEM_LINE_LENGTH = 64
/** A P-256 key takes 178 characters; nothing longer is read. */
const MAX_PEM_LENGTH = 1024

/**
 * The uncompressed point of a P-256 SubjectPublicKeyInfo in DER; undefined for any other bytes. Whether the point is on
 * the curve is left to the signature check, which refuses it there.
 */
export function parseP256Spki(der: Uint8Array): Uint8Array | undefined {
  const point = der.subarray(P256_PREFIX.length)
  if (point.length !== UNCOMPRESSED_POINT_BYTES || point[0] !== UNCOMPRESSED_TAG) return undefined
  return equalBytes(der.subarray(0, P256_PREFIX.length), P256_PREFIX) ? point : undefined
}

/** SubjectPublicKeyInfo of a raw 32-byte Ed25519 public key. */
export function ed25519Spki(rawPublicKey: Uint8Array): Uint8Array {
  return concatBytes(ED25519_PREFIX, rawPublicKey)
}

/** The raw key of a DER SubjectPublicKeyInfo of Ed25519; undefined for any other bytes. */
export function parseEd25519Spki(der: Uint8Array): Uint8Array | undefined {
  const raw = der.subarray(ED25519_PREFIX.length)
  const named = equalBytes(der.subarray(0, ED25519_PREFIX.length), ED25519_PREFIX)
  return named && raw.length === ED25519_KEY_BYTES ? raw : undefined
}

/** PEM text (RFC 7468 §13), byte for byte what Node's `export({ type: "spki", format: "pem" })` writes. */
export function spkiToPem(der: Uint8Array): string {
  const base64 = encodeBase64(der)
  let lines = ""
  for (let at = 0; at < base64.length; at += PEM_LINE_LENGTH) lines += `${base64.slice(at, at + PEM_LINE_LENGTH)}\n`
  return `${PEM_BEGIN}${lines}${PEM_END}`
}

/** DER of a PEM public key written exactly as `spkiToPem` writes it; undefined for any other text. */
export function pemToSpki(pem: string): Uint8Array | undefined {
  if (pem.length > MAX_PEM_LENGTH || !pem.startsWith(PEM_BEGIN) || !pem.endsWith(PEM_END)) return undefined
  const der = decodeBase64(pem.slice(PEM_BEGIN.length, -PEM_END.length).replaceAll("\n", ""))
  return der !== undefined && spkiToPem(der) === pem ? der : undefined
}

/** Id of a Rekor v2 log with an Ed25519 key: the hash of which C2SP signed-note takes the first bytes as key id. */
export function keyIdOfNoteKey(name: string, rawPublicKey: Uint8Array): Uint8Array {
  return sha256(concatBytes(utf8Encode(`${name}\n`), Uint8Array.of(ED25519_NOTE_TYPE), rawPublicKey))
}

/** Key id: SHA-256 of the DER SubjectPublicKeyInfo, 32 bytes. It is a log's `logId` and the hint of a Sigstore bundle. */
export function keyIdOfSpki(der: Uint8Array): Uint8Array {
  return sha256(der)
}

function prefix(hex: string): Uint8Array {
  return decodeHex(hex) ?? Uint8Array.of()
}
