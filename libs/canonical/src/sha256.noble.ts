import { hmac } from "@noble/hashes/hmac.js"
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js"
import { encodeHex } from "./encoding.ts"
import { utf8Encode } from "./utf8.ts"

/** SHA-256 (FIPS 180-4) of bytes, or of the UTF-8 bytes of a string. Browsers take this file; Node takes sha256.node.ts. */
export function sha256(data: string | Uint8Array): Uint8Array {
  return nobleSha256(typeof data === "string" ? utf8Encode(data) : data)
}

/** `sha256` as 64 lowercase hex digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return encodeHex(sha256(data))
}

/** HMAC-SHA-256 (RFC 2104) of the UTF-8 bytes of a message, as 64 lowercase hex digits. */
export function hmacSha256Hex(key: Uint8Array, message: string): string {
  return encodeHex(hmac(nobleSha256, key, utf8Encode(message)))
}

/** A SHA-256 over bytes that come in pieces. */
export interface Sha256Stream {
  readonly update: (bytes: Uint8Array) => void
  /** The hash of all pieces, 64 lowercase hex digits. Call it once, after the last piece. */
  readonly hex: () => string
}

/** A hash of nothing so far. */
export function createSha256(): Sha256Stream {
  const state = nobleSha256.create()
  return { update: bytes => void state.update(bytes), hex: () => encodeHex(state.digest()) }
}
