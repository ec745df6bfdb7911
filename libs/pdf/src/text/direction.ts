import bidiFactory from "bidi-js/dist/bidi.mjs"

const bidi = bidiFactory()

/** Strong right-to-left characters and the digits of Arabic: without one, every level is 0 (UAX #9, P2 to P3). */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** Embedding levels of UTF-16 code units, part by part, and the direction of the whole. */
type Directions = { readonly rightToLeft: boolean; readonly levels: readonly Uint8Array[] }

/**
 * Resolves direction (UAX #9) of a passage made of parts, each by itself: a text that was sent never changes the direction of the words around it.
 * A passage of one part runs as that part does, one of several from left to right. Parts hold no control characters.
 */
export function directions(parts: readonly string[]): Directions {
  let rightToLeft = false
  const levels = parts.map(part => {
    if (!RIGHT_TO_LEFT.test(part)) return new Uint8Array(part.length)
    const resolved = bidi.getEmbeddingLevels(part, "auto")
    rightToLeft = parts.length === 1 && (resolved.paragraphs[0]?.level ?? 0) % 2 === 1
    return resolved.levels
  })
  return { rightToLeft, levels }
}

/** The mirrored form of a character in right-to-left text (UAX #9, L4). */
export function mirrored(character: string): string {
  return bidi.getMirroredCharacter(character) ?? character
}

/** Items of one line from left to right (UAX #9, L2), part by part. */
export function visualOrder<Item extends { readonly level: number; readonly part: number }>(
  items: readonly Item[],
): Item[] {
  const ordered: Item[] = []
  for (let start = 0; start < items.length; ) {
    const part = items[start]?.part
    let end = start + 1
    while (items[end]?.part === part && end < items.length) end++
    ordered.push(...reordered(items.slice(start, end)))
    start = end
  }
  return ordered
}

function reordered<Item extends { readonly level: number }>(items: Item[]): Item[] {
  let highest = 0
  for (const { level } of items) highest = Math.max(highest, level)
  for (let level = highest; level > 0; level--) reverseFrom(items, level)
  return items
}

function reverseFrom<Item extends { readonly level: number }>(items: Item[], level: number): void {
  for (let start = 0; start < items.length; start++) {
    let end = start
    while ((items[end]?.level ?? -1) >= level) end++
    if (end > start + 1) items.splice(start, end - start, ...items.slice(start, end).reverse())
    start = Math.max(start, end)
  }
}
