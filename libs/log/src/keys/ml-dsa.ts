import { ml_dsa44 } from "@noble/post-quantum/ml-dsa.js"

/**
 * Whether `signature` (2,420 bytes) is one of `message` under the ML-DSA-44 key `publicKey` (1,312 bytes), FIPS 204 §5.3 with an empty
 * context. One implementation on every engine, since Node 20 and browsers have none. Never throws.
 */
export function verifyMlDsa44(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return ml_dsa44.verify(signature, message, publicKey)
  } catch {
    return false
  }
}
