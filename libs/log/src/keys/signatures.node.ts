import { constants, createPublicKey, hash as hashOf, type JsonWebKey, type KeyObject, verify } from "node:crypto"
import { isEcdsaDer, isStrictDerSignature } from "./ecdsa-der.ts"
import type { HashName, SignatureAlgorithm, SignerKey } from "./signer-key.ts"
import { ed25519Spki, parseP256Spki } from "./spki.ts"

/** Cache of imported keys: a verifier meets the few keys of one trust document, and an import costs more than a check. */
const MAX_IMPORTED_KEYS = 64
const ED25519_KEY_BYTES = 32
const ED25519_SIGNATURE_BYTES = 64

const importedKeys = new Map<string, KeyObject>()

/** Same contract as in signatures.noble.ts. */
export function verifyEcdsaP256(spkiDer: Uint8Array, message: Uint8Array, signatureDer: Uint8Array): boolean {
  if (parseP256Spki(spkiDer) === undefined || !isStrictDerSignature(signatureDer)) return false
  const key = importKey(spkiDer)
  return key !== undefined && verify("sha256", message, key, signatureDer)
}

/** Same contract as in signatures.noble.ts. */
export function verifyEd25519(rawPublicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (rawPublicKey.length !== ED25519_KEY_BYTES || signature.length !== ED25519_SIGNATURE_BYTES) return false
  const key = importKey(ed25519Spki(rawPublicKey))
  return key !== undefined && verify(null, message, key, signature)
}

/** Same contract as in signatures.noble.ts. */
export const digest = (hash: HashName, bytes: Uint8Array): Uint8Array => hashOf(hash, bytes, "buffer")

/** Same contract as in signatures.noble.ts. */
export function verifySignature(
  key: SignerKey,
  algorithm: SignatureAlgorithm,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (algorithm.family === "ed25519") return key.kind === "ed25519" && verifyEd25519(key.raw, message, signature)
  const imported = importKey(key.spki)
  if (imported === undefined) return false
  if (algorithm.family === "rsa")
    return (
      key.kind === "rsa" &&
      signature.length === key.modulus.length &&
      verify(algorithm.hash, message, { key: imported, padding: constants.RSA_PKCS1_PADDING }, signature)
    )
  return (
    (key.kind === "p256" || key.kind === "p384") &&
    isEcdsaDer(signature) &&
    verify(algorithm.hash, message, imported, signature)
  )
}

function importKey(spkiDer: Uint8Array): KeyObject | undefined {
  const der = Buffer.from(spkiDer.buffer, spkiDer.byteOffset, spkiDer.byteLength)
  const id = der.toString("latin1")
  const known = importedKeys.get(id)
  if (known !== undefined) return known
  const key = createKey(der)
  if (key === undefined) return undefined
  const [oldest] = importedKeys.keys()
  if (oldest !== undefined && importedKeys.size >= MAX_IMPORTED_KEYS) importedKeys.delete(oldest)
  importedKeys.set(id, key)
  return key
}

/** Undefined for a point that is not on the curve. */
function createKey(der: Buffer): KeyObject | undefined {
  const point = parseP256Spki(der)
  try {
    return point === undefined
      ? createPublicKey({ key: der, format: "der", type: "spki" })
      : createPublicKey({ key: jwkOf(Buffer.from(point)), format: "jwk" })
  } catch {
    return undefined
  }
}

/** A P-256 point as RFC 7518 §6.2.1 writes it: OpenSSL takes half a millisecond to set up its reader of DER. */
const jwkOf = (point: Buffer): JsonWebKey => ({
  kty: "EC",
  crv: "P-256",
  x: point.toString("base64url", 1, 33),
  y: point.toString("base64url", 33),
})
