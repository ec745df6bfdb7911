// One spelling per value (docs/formats.md section 1): the decoders answer undefined to every text the encoder would not have written.

import { decodeBase64, encodeBase64 } from "#base64"

export { decodeBase64, encodeBase64 }

const HEX_OF_BYTE: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
const MAX_INT64 = 2n ** 63n - 1n

/** Lowercase hex, two digits a byte. */
export function encodeHex(bytes: Uint8Array): string {
  let text = ""
  for (let index = 0; index < bytes.length; index++) text += HEX_OF_BYTE[bytes[index] ?? 0]
  return text
}

/** Bytes of lowercase hex; undefined for odd length, uppercase or any other character. */
export function decodeHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || /[^0-9a-f]/.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = (hexDigit(text.charCodeAt(2 * index)) << 4) | hexDigit(text.charCodeAt(2 * index + 1))
  }
  return bytes
}

function hexDigit(unit: number): number {
  return unit <= 0x39 ? unit - 0x30 : unit - 0x61 + 10
}

/** Base64url without padding (RFC 4648 §5), as tokens and challenges are written. */
export const encodeBase64Url = (bytes: Uint8Array): string =>
  encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

/** Bytes of base64url without padding; undefined for every other spelling. */
export function decodeBase64Url(text: string): Uint8Array | undefined {
  if (/[+/=]/.test(text)) return undefined
  const base64 = text.replaceAll("-", "+").replaceAll("_", "/")
  return decodeBase64(base64.padEnd(Math.ceil(base64.length / 4) * 4, "="))
}

/** The texts that `decodeBase64` accepts, for documents that describe them: RFC 4648 §4 with zero pad bits. */
export const BASE64_PATTERN: RegExp =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/

/** Whether `value` is 64 lowercase hex digits. */
export function isSha256Hex(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value)
}

/** An int64 written as an unsigned decimal, 0 to 2^63−1, without sign or leading zeros; undefined for any other text. */
export function decodeDecimal(text: string): bigint | undefined {
  if (!/^(?:0|[1-9][0-9]{0,18})$/.test(text)) return undefined
  const value = BigInt(text)
  return value <= MAX_INT64 ? value : undefined
}

/** No more digits than 2^53−1 has: which of these a double has to round, lies beyond it. */
const SAFE_DECIMAL = /^(?:0|[1-9][0-9]{0,15})$/

/** A canonical unsigned decimal of at most 2^53−1, the range in which JSON numbers are exact; undefined for other text. */
export function decodeSafeDecimal(text: string): number | undefined {
  const value = SAFE_DECIMAL.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}
