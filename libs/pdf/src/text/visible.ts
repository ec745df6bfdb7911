import { wellFormed } from "../fonts/utf16.ts"

/** A small box with a label, drawn instead of a character that is invisible or that no font has. */
export type Placeholder = {
  readonly label: string
  /** What a reader that extracts the text gets: never a character that would act on the text around it. */
  readonly reads: string
}

const CONTROLS =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(
    " ",
  )
const DELETE = 0x7f
/** Unicode block "Control Pictures". */
const CONTROL_PICTURES = 0x2400

/** Abbreviations of the Unicode Standard (chapter 23) for the characters that act without showing. */
const NAMED: ReadonlyMap<number, string> = new Map([
  [0x00ad, "SHY"],
  [0x034f, "CGJ"],
  [0x061c, "ALM"],
  [0x200b, "ZWSP"],
  [0x200c, "ZWNJ"],
  [0x200d, "ZWJ"],
  [0x200e, "LRM"],
  [0x200f, "RLM"],
  [0x2028, "LSEP"],
  [0x2029, "PSEP"],
  [0x202a, "LRE"],
  [0x202b, "RLE"],
  [0x202c, "PDF"],
  [0x202d, "LRO"],
  [0x202e, "RLO"],
  [0x2060, "WJ"],
  [0x2066, "LRI"],
  [0x2067, "RLI"],
  [0x2068, "FSI"],
  [0x2069, "PDI"],
  [0xfeff, "BOM"],
  [0xfffc, "OBJ"],
])

/** Never drawn as themselves: controls, invisible formatters, fillers, private use, surrogates, what is not assigned. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800\ufffc]/u
/** Signs before a number that Unicode counts among the formatters, yet have ink. */
const PREPENDED = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u
const EMOJI = /[\p{Emoji_Presentation}\p{Emoji_Modifier}\p{Regional_Indicator}]/u

/** The box for a character that is never drawn as itself, whatever the fonts have; undefined for any other character. */
export function placeholderFor(character: string): Placeholder | undefined {
  const codePoint = character.codePointAt(0) ?? 0
  const control = codePoint === DELETE ? "DEL" : CONTROLS[codePoint]
  if (control !== undefined) {
    const picture = codePoint === DELETE ? CONTROL_PICTURES + 0x21 : CONTROL_PICTURES + codePoint
    return { label: control, reads: String.fromCodePoint(picture) }
  }
  if (EMOJI.test(character)) return missing(character)
  if (!UNSEEN.test(character) || PREPENDED.test(character)) return undefined
  return { label: NAMED.get(codePoint) ?? notation(codePoint), reads: `⟦${notation(codePoint)}⟧` }
}

/** The box for a character that no font has; the character itself is extracted. */
export function missing(character: string): Placeholder {
  return { label: notation(character.codePointAt(0) ?? 0), reads: character }
}

/** U+XXXX as the Unicode Standard writes code points. */
function notation(codePoint: number): string {
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}`
}

/** What a string of a PDF/A holds (ISO 19005-3, 6.1.12: 32,767 bytes) with room for signs that are written out. */
const MAX_CHARACTERS = 2000

/** Text for places that are not drawn (titles, outline, alternatives): invisible characters are written out, long text is cut. */
export function readable(text: string): string {
  const characters = Array.from(wellFormed(text.slice(0, 2 * MAX_CHARACTERS)))
  const shown = characters.slice(0, MAX_CHARACTERS).map(character => placeholderFor(character)?.reads ?? character)
  return shown.join("") + (text.length > 2 * MAX_CHARACTERS || characters.length > MAX_CHARACTERS ? "…" : "")
}
