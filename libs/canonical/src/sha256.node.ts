import { createHash, createHmac, hash } from "node:crypto"

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

/** Same contract as in sha256.noble.ts. */
export function hmacSha256Hex(key: Uint8Array, message: string): string {
  return createHmac("sha256", key).update(message).digest("hex")
}

/** Same contract as in sha256.noble.ts. */
export function createSha256(): { readonly update: (bytes: Uint8Array) => void; readonly hex: () => string } {
  const state = createHash("sha256")
  return { update: bytes => void state.update(bytes), hex: () => state.digest("hex") }
}
