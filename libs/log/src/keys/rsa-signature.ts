/** RSASSA-PKCS1-v1_5 for platforms without it: verification alone, which handles no secret. */
import { concatBytes, decodeHex, encodeHex, equalBytes } from "@runseal/canonical"
import type { HashName } from "./signer-key.ts"

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
export function verifyRsa(modulus: Uint8Array, hash: HashName, digest: Uint8Array, signature: Uint8Array): boolean {
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
