import { ed25519 } from "@noble/curves/ed25519.js"
import { p256, p384 } from "@noble/curves/nist.js"
import { sha256, sha384, sha512 } from "@noble/hashes/sha2.js"
import { concatBytes, decodeHex, encodeHex, equalBytes } from "@runseal/canonical"
import { isEcdsaDer, isStrictDerSignature } from "./ecdsa-der.ts"
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

// RSASSA-PKCS1-v1_5 for platforms without it: verification alone, which handles no secret.

/** DER of a DigestInfo up to the digest, RFC 8017 §9.2 note 1. */
const DIGEST_INFO: { readonly [hash in HashName]: Uint8Array } = {
  sha256: prefix("3031300d060960864801650304020105000420"),
  sha384: prefix("3041300d060960864801650304020205000430"),
  sha512: prefix("3051300d060960864801650304020305000440"),
}
/** 65537 = 2^16 + 1. */
const SQUARINGS = 16

/**
 * Whether `signature` is one of a message with this digest under a key with exponent 65537 (RFC 8017 §8.2.2). Never throws.
 * @param modulus big-endian without leading zeros, at least 128 bytes
 */
function verifyRsa(modulus: Uint8Array, hash: HashName, digest: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== modulus.length) return false
  const n = toBigInt(modulus)
  const s = toBigInt(signature)
  if (s >= n) return false
  let power = s
  for (let step = 0; step < SQUARINGS; step++) power = (power * power) % n
  const message = ((power * s) % n).toString(16).padStart(modulus.length * 2, "0")
  const info = concatBytes(DIGEST_INFO[hash], digest)
  const padding = new Uint8Array(modulus.length - info.length - 3).fill(0xff)
  const expected = concatBytes(Uint8Array.of(0x00, 0x01), padding, Uint8Array.of(0x00), info)
  return equalBytes(decodeHex(message) ?? new Uint8Array(), expected)
}

const toBigInt = (bytes: Uint8Array): bigint => BigInt(`0x${encodeHex(bytes)}`)

function prefix(hex: string): Uint8Array {
  return decodeHex(hex) ?? Uint8Array.of()
}
