import { hash } from "node:crypto"

/** SHA-256 (FIPS 180-4) of bytes, or of the UTF-8 bytes of a string. Same contract as sha256.noble.ts, about 8 times faster. */
export function sha256(data: string | Uint8Array): Uint8Array {
  const buffer = hash("sha256", data, "buffer")
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
}

/** `sha256` as 64 lowercase hex digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash("sha256", data, "hex")
}
