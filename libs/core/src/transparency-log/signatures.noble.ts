import { ed25519 } from "@noble/curves/ed25519.js"
import { p256 } from "@noble/curves/nist.js"
import { isStrictDerSignature } from "./ecdsa-der.ts"
import { parseP256Spki } from "./spki.ts"

/** Browsers take this file, Node takes signatures.node.ts; package.json `imports` chooses. Both answer the same. */

/**
 * Whether `signatureDer` is a signature of SHA-256(`message`) under the P-256 key `spkiDer` (SubjectPublicKeyInfo, DER).
 * High-S is accepted: who may write it is a rule of the caller. Malformed keys and signatures are false; never throws.
 */
export function verifyEcdsaP256(spkiDer: Uint8Array, message: Uint8Array, signatureDer: Uint8Array): boolean {
  const point = parseP256Spki(spkiDer)
  if (point === undefined || !isStrictDerSignature(signatureDer)) return false
  try {
    return p256.verify(signatureDer, message, point, { format: "der", lowS: false })
  } catch {
    return false
  }
}

/**
 * Whether `signature` (64 bytes) is an Ed25519 signature (RFC 8032) of `message` under `rawPublicKey` (32 bytes). Never
 * throws. The two implementations may differ only for keys made on purpose with a small-order part, whose owner could
 * as well have signed both ways; such a key would have to be pinned by the user first.
 */
export function verifyEd25519(rawPublicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, message, rawPublicKey, { zip215: false })
  } catch {
    return false
  }
}
