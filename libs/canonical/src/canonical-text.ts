import { equalBytes } from "./bytes.ts"
import { canonicalize, type KnownTexts } from "./canonicalize.ts"
import { countNodes, MAX_NODES } from "./json-nodes.ts"
import { type JsonValue, MAX_DEPTH } from "./json-value.ts"
import { utf8Decode, utf8Encode } from "./utf8.ts"

/** Longest text that is tried, in UTF-8 bytes: more than a service seals. */
const MAX_BYTES = 4_194_304
/** Offsets are recorded of objects at most this deep: sections, leaves and entries of a record. */
const MAX_SPAN_DEPTH = 4
/** How JSON.stringify begins the escape of a lone surrogate, which has no canonical form. */
const SURROGATE_ESCAPE = "\\ud"
/** How the text of U+0000 is escaped; behind an escaped backslash it means something else. */
const NUL_ESCAPE = "\\u0000"

const QUOTE = 0x22
const COMMA = 0x2c
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** A text in RFC 8785 form with its value and the offsets of its objects. */
export interface CanonicalText extends KnownTexts {
  readonly value: JsonValue
  /** False when no string of it holds U+0000. */
  readonly mayHoldNul: boolean
}

/** Offsets of an object and of each of its members; the last of `places` is that of the closing brace. */
interface Span {
  readonly start: number
  readonly names: readonly string[]
  readonly places: readonly number[]
}

/**
 * Reads a text that is in RFC 8785 form already with the engine's own parser; undefined says nothing of the text.
 *
 * Such a text is strict as `parseStrictJson` understands it, and has the same value: what that refuses (a duplicate key, an
 * inexact number, a lone surrogate, deep nesting) either has no canonical form or has another one than the text.
 * @param input the text, or its UTF-8 bytes
 */
export function readCanonical(input: string | Uint8Array): CanonicalText | undefined {
  if (input.length > MAX_BYTES) return undefined
  const text = typeof input === "string" ? input : utf8Decode(input)
  if (text === undefined || (text === input && !text.isWellFormed())) return undefined
  const bytes = typeof input === "string" ? utf8Encode(input) : input
  // The engine's own parser bounds neither nesting nor what it builds.
  if (bytes.length > MAX_NODES && countNodes(bytes, MAX_NODES + 1) > MAX_NODES) return undefined
  try {
    const value: JsonValue = JSON.parse(text)
    const mayHoldNul = text.includes(NUL_ESCAPE)
    const spans = new Map<object, Span>()
    if (walk({ bytes, spans }, value, 0, 0) !== bytes.length) {
      // Keys that look like array indices are not enumerated in the order of the text.
      return canonicalize(value) === text ? { value, mayHoldNul, ...NOTHING } : undefined
    }
    return { value, mayHoldNul, bytesOf: textOf(bytes, spans), piecesWithout: withoutMember(bytes, spans) }
  } catch {
    return undefined
  }
}

/** The value of a text that is in RFC 8785 form already; undefined says nothing of the text. */
export const parseCanonical = (text: string): JsonValue | undefined => readCanonical(text)?.value

const NOTHING: KnownTexts = { bytesOf: () => undefined, piecesWithout: () => undefined }

/** A text that is walked through beside its value, and the objects found. */
interface Walked {
  readonly bytes: Uint8Array
  readonly spans: Map<object, Span>
}

const isItems = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

/** No index: as a number it fails every comparison, and as an index it leads to no byte. */
const NOT_CANONICAL = Number.NaN

/**
 * Index behind the canonical text of a value that begins at `at` inside `depth` others; NaN where the text differs.
 *
 * The value is what the engine's parser made of the whole text. Each step compares one token with its canonical spelling, so an object
 * with as many members as its text has no key twice, and every value has the offset at which it is compared.
 */
function walk(walked: Walked, value: JsonValue, at: number, depth: number): number {
  if (typeof value === "string") return behindString(walked.bytes, value, at)
  if (typeof value === "number") {
    const exact = !Number.isInteger(value) || Number.isSafeInteger(value)
    return exact ? behindAscii(walked.bytes, `${value}`, at) : NOT_CANONICAL
  }
  if (typeof value === "boolean" || value === null) return behindAscii(walked.bytes, `${value}`, at)
  if (depth === MAX_DEPTH) return NOT_CANONICAL
  return isItems(value) ? walkItems(walked, value, at, depth) : walkMembers(walked, value, at, depth)
}

function walkItems(walked: Walked, items: readonly JsonValue[], at: number, depth: number): number {
  const { bytes } = walked
  let next = at
  let before = OPEN_BRACKET
  for (const item of items) {
    if (bytes[next] !== before) return NOT_CANONICAL
    next = walk(walked, item, next + 1, depth + 1)
    before = COMMA
  }
  if (items.length === 0 && bytes[next++] !== OPEN_BRACKET) return NOT_CANONICAL
  return bytes[next] === CLOSE_BRACKET ? next + 1 : NOT_CANONICAL
}

function walkMembers(
  walked: Walked,
  object: { readonly [name: string]: JsonValue },
  at: number,
  depth: number,
): number {
  const { bytes, spans } = walked
  const names = Object.keys(object)
  const places: number[] = []
  let next = at
  let before = ""
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? ""
    if (bytes[next] !== (index === 0 ? OPEN_BRACE : COMMA) || isNumbered(name)) return NOT_CANONICAL
    if (index > 0 && name < before) return NOT_CANONICAL
    before = name
    places.push(next + 1)
    next = behindString(bytes, name, next + 1)
    if (bytes[next] !== COLON) return NOT_CANONICAL
    next = walk(walked, object[name] ?? null, next + 1, depth + 1)
  }
  if (names.length === 0 && bytes[next++] !== OPEN_BRACE) return NOT_CANONICAL
  if (bytes[next] !== CLOSE_BRACE) return NOT_CANONICAL
  places.push(next)
  if (depth <= MAX_SPAN_DEPTH) spans.set(object, { start: at, names, places })
  return next + 1
}

/** Whether a key may look like an array index, which is enumerated before the others whatever its offset. */
function isNumbered(name: string): boolean {
  const first = name.charCodeAt(0)
  return first >= DIGIT_0 && first <= DIGIT_9
}

/** Index behind the JSON string at `at` that says `string`. */
function behindString(bytes: Uint8Array, string: string, at: number): number {
  if (bytes[at] !== QUOTE) return NOT_CANONICAL
  const last = at + 1 + string.length
  if (endsAt(bytes, at, last)) return last + 1
  const written = JSON.stringify(string)
  if (written.includes(SURROGATE_ESCAPE)) return NOT_CANONICAL
  const expected = utf8Encode(written)
  const end = at + expected.length
  return equalBytes(bytes.subarray(at, end), expected) ? end : NOT_CANONICAL
}

/**
 * Whether the JSON string that begins at `at` ends with the first quote behind it, at `last`. If it has as many bytes as what
 * it says has units, it holds neither an escape nor anything beyond ASCII.
 */
function endsAt(bytes: Uint8Array, at: number, last: number): boolean {
  for (let index = at + 1; index < last; index++) if (bytes[index] === QUOTE) return false
  return bytes[last] === QUOTE && bytes[last - 1] !== BACKSLASH
}

function behindAscii(bytes: Uint8Array, text: string, at: number): number {
  for (let index = 0; index < text.length; index++)
    if (bytes[at + index] !== text.charCodeAt(index)) return NOT_CANONICAL
  return at + text.length
}

const textOf =
  (bytes: Uint8Array, spans: ReadonlyMap<object, Span>): KnownTexts["bytesOf"] =>
  object => {
    const span = spans.get(object)
    return span && bytes.subarray(span.start, endOf(span))
  }

const endOf = ({ places }: Span): number => (places.at(-1) ?? 0) + 1

const withoutMember =
  (bytes: Uint8Array, spans: ReadonlyMap<object, Span>): KnownTexts["piecesWithout"] =>
  (object, name) => {
    const span = spans.get(object)
    if (span === undefined) return undefined
    const { start, names, places } = span
    const index = names.indexOf(name)
    if (index === -1) return [bytes.subarray(start, endOf(span))]
    const [from = 0, to = 0] = [places[index], places[index + 1]]
    // With the comma behind the member, or the one before it when it is the last of several.
    const isLast = index === names.length - 1
    return [bytes.subarray(start, isLast && index > 0 ? from - 1 : from), bytes.subarray(to, endOf(span))]
  }
