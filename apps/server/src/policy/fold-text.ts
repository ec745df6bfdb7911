/**
 * The forms of a text in which signatures are searched: as given, and folded so that trivial disguise does not pass.
 * Both are lowercase; signatures are written in lowercase.
 */

// Replaces the characters of a text one by one, by a rule that reads no neighbours. The result for each character is cached.

const UNKNOWN = 0
const SAME = 1
const OTHER = 2

const CODE_POINTS = 0x11_0000
/** Parts of a result that are joined at a time: joining one by one would make a rope that is slow to read. */
const PARTS_JOINED = 4096

/**
 * A function that replaces each code point by the result of `rule`, in one pass. The cache has at most one entry for each
 * code point; a code point that stays as it is, as most do, costs one lookup.
 * @param rule must be pure; it is given one code point as a string, which is a lone surrogate where the text has one
 */
function characterMap(rule: (character: string) => string): (text: string) => string {
  const kinds = new Uint8Array(CODE_POINTS)
  const forms = new Map<number, string>()
  const learn = (code: number): number => {
    const character = String.fromCodePoint(code)
    const form = rule(character)
    const kind = form === character ? SAME : OTHER
    if (kind === OTHER) forms.set(code, form)
    kinds[code] = kind
    return kind
  }
  return text => {
    let done = ""
    let parts: string[] = []
    let copiedEnd = 0
    for (let i = 0; i < text.length; ) {
      const code = text.codePointAt(i) ?? 0
      const next = i + (code > 0xffff ? 2 : 1)
      const kind = kinds[code]
      if ((kind === undefined || kind === UNKNOWN ? learn(code) : kind) === OTHER) {
        if (copiedEnd < i) parts.push(text.slice(copiedEnd, i))
        parts.push(forms.get(code) ?? "")
        copiedEnd = next
        if (parts.length >= PARTS_JOINED) {
          done += parts.join("")
          parts = []
        }
      }
      i = next
    }
    if (copiedEnd === 0) return text
    return done + parts.join("") + text.slice(copiedEnd)
  }
}

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

// Text that a reader does not see as it is: hidden in characters that are drawn as nothing, or turned round by a directional override. A
// model reads it. Each function gives the text that is meant, to be searched besides the one that was given; linear.

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
function hiddenTexts(text: string): readonly string[] {
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
const turnedText = (text: string): readonly string[] =>
  text.includes("\u202e")
    ? [text.replace(OVERRIDDEN, (_, turned: string) => Array.from(turned).reverse().join(""))]
    : []
