declare global {
  // ES2024, in Node since 20 and in browsers since 2023; the libs compile against ES2023.
  interface String {
    isWellFormed(): boolean
    toWellFormed(): string
  }
}

interface Decoder {
  decode(bytes: Uint8Array): string
}
// WHATWG Encoding: in Node and in every browser; declared here because the libs compile without DOM types.
declare const TextDecoder: new (label: "utf-8", options: { fatal: boolean; ignoreBOM: boolean }) => Decoder

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const lenient = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true })

const REPLACEMENT = "\ufffd"

export { utf8Encode } from "#utf8-encode"

/** Text of UTF-8 bytes, a byte order mark as U+FEFF; undefined when the bytes are not valid UTF-8. */
export function utf8Decode(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

/** Text of bytes with each invalid sequence replaced by U+FFFD, and the index in it of the first replacement. */
export function utf8Salvage(bytes: Uint8Array): { readonly text: string; readonly invalidAt: number } {
  const text = lenient.decode(bytes)
  let at = 0
  let offset = 0
  for (;;) {
    const next = text.indexOf(REPLACEMENT, at)
    if (next === -1) return { text, invalidAt: text.length }
    offset += utf8Length(text, at, next)
    const written = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd
    if (!written) return { text, invalidAt: next }
    offset += 3
    at = next + 1
  }
}

/** UTF-8 bytes of the UTF-16 code units of `text` from `start` to `end`; a lone surrogate counts 3, as U+FFFD does. */
export function utf8Length(text: string, start = 0, end: number = text.length): number {
  let bytes = 0
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (isSurrogatePair(text, at)) {
      bytes += 4
      at++
    } else bytes += 3
  }
  return bytes
}

/** Whether a high surrogate is at `at` and a low one after it. */
export function isSurrogatePair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
}
