import bidiFactory from "bidi-js/dist/bidi.mjs"

const bidi = bidiFactory()

/** Strong right-to-left characters and the digits of Arabic: without one, every level is 0 (UAX #9, P2 to P3). */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

const FIRST_STRONG_ISOLATE = "\u2068"
const POP_ISOLATE = "\u2069"

/** Embedding levels of UTF-16 code units, part by part, and the direction of the whole. */
export type Directions = { readonly rightToLeft: boolean; readonly levels: readonly Uint8Array[] }

/**
 * Resolves direction (UAX #9) of a passage made of parts that do not act on each other: with several parts each is isolated, so
 * that a caller's text never reorders the words around it. Parts hold no control characters of their own.
 */
export function directions(parts: readonly string[]): Directions {
  if (!parts.some(part => RIGHT_TO_LEFT.test(part))) {
    return { rightToLeft: false, levels: parts.map(part => new Uint8Array(part.length)) }
  }
  const isolated = parts.length > 1
  const text = isolated ? parts.map(part => FIRST_STRONG_ISOLATE + part + POP_ISOLATE).join("") : parts.join("")
  const resolved = bidi.getEmbeddingLevels(text, "auto")
  const levels: Uint8Array[] = []
  let at = 0
  for (const part of parts) {
    if (isolated) at++
    levels.push(resolved.levels.subarray(at, at + part.length))
    at += part.length + (isolated ? 1 : 0)
  }
  return { rightToLeft: (resolved.paragraphs[0]?.level ?? 0) % 2 === 1, levels }
}

/** The character drawn for one that stands in right-to-left text (UAX #9, L4). */
export function mirrored(character: string): string {
  return bidi.getMirroredCharacter(character) ?? character
}

/** Items of one line from left to right (UAX #9, L2). */
export function visualOrder<Item extends { readonly level: number }>(items: readonly Item[]): Item[] {
  const ordered = [...items]
  let highest = 0
  for (const { level } of items) highest = Math.max(highest, level)
  for (let level = highest; level > 0; level--) reverseFrom(ordered, level)
  return ordered
}

function reverseFrom<Item extends { readonly level: number }>(items: Item[], level: number): void {
  for (let start = 0; start < items.length; start++) {
    let end = start
    while ((items[end]?.level ?? -1) >= level) end++
    if (end > start + 1) items.splice(start, end - start, ...items.slice(start, end).reverse())
    start = Math.max(start, end)
  }
}
