/**
 * The forms of a text in which signatures are searched: as given, and folded so that trivial disguise does not pass.
 * Both are lowercase; signatures are written in lowercase.
 */

import { characterMap } from "./character-map.ts"
import { hiddenTexts, turnedText } from "./hidden-text.ts"

/** Text in which folding changes nothing but case: printable ASCII and common white space, no backslash. */
const PLAIN = /^[\t\n\r\x20-\x5b\x5d-\x7e]*$/

const JSON_ESCAPE = /\\(?:u([0-9a-f]{4})|([nrtbf"'/\\]))/gi
const ESCAPED: Readonly<Record<string, string>> = { n: "\n", r: "\n", t: "\t", b: " ", f: " " }

/** Combining marks, format characters (zero width, bidi, tags), other ignorables, and control characters that are no white space. */
const INVISIBLE = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]|[^\P{Cc}\t\n\v\f\r\x85]/gu
/** All white space of Unicode but tab and line breaks. */
const SPACE = /[\p{Z}\v\f\x85]/gu

/**
 * Letters that are drawn like one of the basic Latin ones, a part of the Unicode confusables (UTS #39), one of these with its lookalikes per
 * word: Cyrillic, Greek, small capitals, letters with a stroke and without a dot.
 */
const LOOKALIKES =
  "aаαɑᴀ bвβʙ cсϲᴄ dԁđᴅ eеёεᴇ fꜰ gɡɢ hһнħʜ iіιїıɩɪ jјȷᴊ kкκᴋ lӏłʟ mмμᴍ nпηɴ oоοσøᴏ pрρᴘ qԛ rʀ sѕꜱ tтτŧᴛ uυᴜ vѵνᴠ wԝωᴡ xхχ yуγʏ zζᴢ"
/** The letter A of alphabets from A to Z that are white on black, or halves of flags. */
const ALPHABETS = [0x1f150, 0x1f170, 0x1f1e6]
const LATIN_OF: ReadonlyMap<string, string> = new Map([
  ...LOOKALIKES.split(" ").flatMap(([latin = "", ...others]) =>
    others.map((other): [string, string] => [other, latin]),
  ),
  ...ALPHABETS.flatMap(first =>
    Array.from("abcdefghijklmnopqrstuvwxyz", (latin, i): [string, string] => [String.fromCodePoint(first + i), latin]),
  ),
])
/** Letters that look Latin made Latin. */
const latinized = characterMap(letter => LATIN_OF.get(letter) ?? letter)

/** Compatibility forms and accents resolved, what is invisible removed, every space a space. */
const visible = characterMap(character =>
  character.replace(INVISIBLE, "").normalize("NFKD").replace(INVISIBLE, "").replace(SPACE, " "),
)

/** Decodes one level of JSON string escapes anywhere in a text: payloads often are JSON text inside a JSON string. */
export function decodeJsonEscapes(text: string): string {
  return text.replace(JSON_ESCAPE, (_, hex: string | undefined, short: string | undefined) =>
    hex === undefined
      ? (ESCAPED[short?.toLowerCase() ?? ""] ?? short ?? "")
      : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/**
 * Text without disguise: JSON escapes decoded once, compatibility forms and accents resolved (NFKD without marks),
 * invisible characters removed, every space a space.
 * Linear, and of each character alone: all that NFKD does across characters is to reorder marks, and marks are removed.
 * NFKD makes at most 18 code units of one (UAX #15), so the result is bounded by its input.
 */
export const unmaskText = (text: string): string => visible(decodeJsonEscapes(text))

/** The folded form: unmasked, lowercase, lookalike letters Latin. */
export const foldText = (text: string): string => latinized(unmaskText(text).toLowerCase())

/** Whether `unmaskText` would give the text back unchanged, by one test of each character. */
export const isPlain = (text: string): boolean => PLAIN.test(text)

/**
 * The folded forms of a text: none for plain text. A disguised text with a backslash has two, because it may be a path, where a backslash is
 * no escape. What is hidden in a text or turned round are further ones.
 */
export function foldedForms(text: string): readonly string[] {
  if (isPlain(text)) return []
  const decoded = foldText(text)
  const undecoded = latinized(visible(text).toLowerCase())
  const forms = undecoded === decoded || undecoded === text.toLowerCase() ? [decoded] : [decoded, undecoded]
  const unescaped = decodeJsonEscapes(text)
  return [...forms, ...[...hiddenTexts(unescaped), ...turnedText(unescaped)].map(foldText)]
}

/** The forms to search: as given, and folded. Each is a whole line, for signatures that ask where one begins or ends. */
export const searchForms = (text: string): readonly [given: string, ...folded: string[]] => [
  `\n${text.toLowerCase()}\n`,
  ...foldedForms(text).map(form => `\n${form}\n`),
]
