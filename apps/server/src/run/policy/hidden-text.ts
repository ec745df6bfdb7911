/**
 * Text that a reader does not see as it is: hidden in characters that are drawn as nothing, or turned round by a directional override. A
 * model reads it. Each function gives the text that is meant, to be searched besides the one that was given; linear.
 */

/** Variation selectors, 256 of them for the 256 bytes, and tags, one for each character of ASCII. */
const HIDING = /[\u{fe00}-\u{fe0f}]|[\u{e0020}-\u{e007e}]|[\u{e0100}-\u{e01ef}]/u
const TAGS = /[\u{e0020}-\u{e007e}]/gu
const TAG_BASE = 0xe0000
const SELECTORS = /[\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}]/gu
const FIRST_SELECTOR = 0xfe00
const SECOND_BLOCK = 0xe0100
/** Selectors of the first block, one after the other: two of them can be a byte. */
const HALF_BYTES = /[\u{fe00}-\u{fe0f}]{2,}/gu

const utf8 = new TextDecoder()
const codeOf = (character: string): number => character.codePointAt(0) ?? 0

const byteOf = (selector: string): number => {
  const code = codeOf(selector)
  return code < SECOND_BLOCK ? code - FIRST_SELECTOR : code - SECOND_BLOCK + 16
}

/** Bytes of which each has two selectors. @param from 0 or 1: where the first of them begins */
function pairedBytes(run: string, from: 0 | 1): Uint8Array {
  const halves = Array.from(run, byteOf).slice(from)
  return Uint8Array.from({ length: halves.length >> 1 }, (_, i) => 16 * (halves[2 * i] ?? 0) + (halves[2 * i + 1] ?? 0))
}

/** What tags and variation selectors of a text spell, in each of the ways that are in use; none where there are none. */
export function hiddenTexts(text: string): readonly string[] {
  if (!HIDING.test(text)) return []
  const tags = (text.match(TAGS) ?? []).map(tag => String.fromCodePoint(codeOf(tag) - TAG_BASE)).join("")
  const bytes = utf8.decode(Uint8Array.from(text.match(SELECTORS) ?? [], byteOf))
  const runs = text.match(HALF_BYTES) ?? []
  const paired = ([0, 1] as const).map(from => runs.map(run => utf8.decode(pairedBytes(run, from))).join("\n"))
  return [tags, bytes, ...paired].filter(found => found !== "")
}

/** From a right-to-left override to its end, or to the end of the paragraph. */
const OVERRIDDEN = /\u{202e}([^\u{202c}\u{202e}\n\r\u{85}\u{2029}]*)/gu

/** The text as it is drawn where letters are turned round by U+202E; none where that character is not. */
export const turnedText = (text: string): readonly string[] =>
  text.includes("\u202e")
    ? [text.replace(OVERRIDDEN, (_, turned: string) => Array.from(turned).reverse().join(""))]
    : []
