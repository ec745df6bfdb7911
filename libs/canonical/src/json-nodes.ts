import type { JsonValue } from "./json-value.ts"

/**
 * Most nodes of a JSON text that is read; a caller can ask for fewer. What is read of a text takes up to 90 bytes of memory a node,
 * and a node may be two bytes of text.
 */
export const MAX_NODES = 524_288

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b

/**
 * How many nodes a JSON text has: its commas, colons, opening brackets and opening braces, those in strings not counted. So many
 * arrays, objects, further items and members it has. Nothing is built, and a text that is not JSON is counted as if it were.
 * @param bytes the text as UTF-8: no byte of a longer character is one of those
 * @param enough where counting may stop
 */
export function countNodes(bytes: Uint8Array, enough: number = Number.POSITIVE_INFINITY): number {
  let nodes = 0
  for (let at = 0; at < bytes.length && nodes < enough; at++) {
    const unit = bytes[at]
    if (unit === QUOTE) at = closingQuote(bytes, at)
    else if (unit === COMMA || unit === COLON || unit === OPEN_BRACKET || unit === OPEN_BRACE) nodes++
  }
  return nodes
}

/** Index of the quote that ends the string which begins at `start`, or behind the text when none does. */
function closingQuote(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

/** Whether any key or text contains U+0000: databases and terminals cut text there. */
export function holdsNul(value: JsonValue): boolean {
  if (typeof value === "string") return value.includes("\u0000")
  if (Array.isArray(value)) return value.some(holdsNul)
  if (typeof value !== "object" || value === null) return false
  return Object.entries(value).some(([key, member]) => key.includes("\u0000") || holdsNul(member))
}
