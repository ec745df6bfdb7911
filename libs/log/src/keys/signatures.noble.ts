import { ed25519 } from "@noble/curves/ed25519.js"
import { p256, p384 } from "@noble/curves/nist.js"
import { sha256, sha384, sha512 } from "@noble/hashes/sha2.js"
import { isEcdsaDer, isStrictDerSignature } from "./ecdsa-der.ts"
import { verifyRsa } from "./rsa-signature.ts"
import type { HashName, SignatureAlgorithm, SignerKey } from "./signer-key.ts"
import { parseP256Spki } from "./spki.ts"

/** Browsers load this file, Node loads signatures.node.ts; package.json `imports` chooses. Both give the same results. */

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

const HASHES: { readonly [name in HashName]: (bytes: Uint8Array) => Uint8Array } = { sha256, sha384, sha512 }

/** Digest of `bytes`. */
export const digest = (hash: HashName, bytes: Uint8Array): Uint8Array => HASHES[hash](bytes)

/**
 * Whether `signature` is one of `message` under the key of a certificate, made with this algorithm: ECDSA in DER, high-S or
 * low-S, RSA PKCS #1 v1.5 or Ed25519. False for a key of another family. Never throws.
 */
export function verifySignature(
  key: SignerKey,
  algorithm: SignatureAlgorithm,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (algorithm.family === "ed25519") return key.kind === "ed25519" && verifyEd25519(key.raw, message, signature)
  const hashed = digest(algorithm.hash, message)
  if (algorithm.family === "rsa") return key.kind === "rsa" && verifyRsa(key.modulus, algorithm.hash, hashed, signature)
  if ((key.kind !== "p256" && key.kind !== "p384") || !isEcdsaDer(signature)) return false
  const curve = key.kind === "p256" ? p256 : p384
  try {
    return curve.verify(signature, hashed, key.point, { format: "der", lowS: false, prehash: false })
  } catch {
    return false
  }
}
