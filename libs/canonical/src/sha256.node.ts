import { createHash, createHmac, hash } from "node:crypto"
import { utf8Encode } from "./utf8.ts"

/** SHA-256 (FIPS 180-4) of bytes, or of the UTF-8 bytes of a string. Same contract as sha256.noble.ts, about 8 times faster. */
export function sha256(data: string | Uint8Array): Uint8Array {
  // As a string of one character a byte: making a Buffer of it takes Node longer than the hash.
  const characters = hash("sha256", data, "binary")
  const bytes = new Uint8Array(characters.length)
  for (let index = 0; index < bytes.length; index++) bytes[index] = characters.charCodeAt(index)
  return bytes
}

/** `sha256` as 64 lowercase hex digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash("sha256", data, "hex")
}

/** Of SHA-256, which RFC 2104 section 2 calls B; and its two paddings. */
const BLOCK_BYTES = 64
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c
const HASH_BYTES = 32

/** Same contract as in sha256.noble.ts. Two hashes of RFC 2104: preparing a key takes `createHmac` some ten times longer. */
export function hmacSha256Hex(key: Uint8Array, message: string): string {
  if (key.length > BLOCK_BYTES) return createHmac("sha256", key).update(message).digest("hex")
  const text = utf8Encode(message)
  const inner = new Uint8Array(BLOCK_BYTES + text.length).fill(INNER_PAD, 0, BLOCK_BYTES)
  const outer = new Uint8Array(BLOCK_BYTES + HASH_BYTES).fill(OUTER_PAD, 0, BLOCK_BYTES)
  for (let index = 0; index < key.length; index++) {
    const byte = key[index] ?? 0
    inner[index] = byte ^ INNER_PAD
    outer[index] = byte ^ OUTER_PAD
  }
  inner.set(text, BLOCK_BYTES)
  outer.set(sha256(inner), BLOCK_BYTES)
  const mac = sha256Hex(outer)
  inner.fill(0, 0, BLOCK_BYTES)
  outer.fill(0)
  return mac
}

/** Same contract as in sha256.noble.ts. */
export function createSha256(): { readonly update: (bytes: Uint8Array) => void; readonly hex: () => string } {
  const state = createHash("sha256")
  return { update: bytes => void state.update(bytes), hex: () => state.digest("hex") }
}
