import { canonicalize } from "./canonicalize.ts"
import { type JsonValue, MAX_DEPTH } from "./json-value.ts"

/**
 * Longest text that is tried, in UTF-16 units: the engine's own parser bounds neither nesting nor what it builds. A sealed
 * record has some 32,000.
 */
const MAX_UNITS = 262_144
/** Objects are looked up that stand inside at most so many others: sections, leaves and entries of a record. */
const MAX_KEPT_DEPTH = 4
/** How JSON.stringify begins the escape of a lone surrogate, which has no canonical form. */
const SURROGATE_ESCAPE = "\\ud"
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Canonical texts of objects that need not be written again. */
export interface KnownTexts {
  /** The RFC 8785 form of an object; undefined when it is not known. */
  readonly textOf: (object: object) => string | undefined
  /** The same of the object without its own member of that name, if it has one. */
  readonly textWithout: (object: object, name: string) => string | undefined
}

/** A text in RFC 8785 form with what it says; its objects are known by where they stand in it. */
export interface CanonicalText extends KnownTexts {
  readonly value: JsonValue
}

/** Where an object stands, and each of its members; the last place is that of its closing brace. */
interface Span {
  readonly start: number
  readonly names: readonly string[]
  readonly places: readonly number[]
}

/**
 * Reads a text that is in RFC 8785 form already with the engine's own parser; undefined says nothing of the text.
 *
 * Such a text is strict as `parseStrictJson` understands it, and has the same value: what that refuses (a duplicate key, an
 * inexact number, a lone surrogate, deep nesting) either has no canonical form or is written otherwise than it stood.
 */
export function readCanonical(text: string): CanonicalText | undefined {
  if (text.length > MAX_UNITS || text.includes(SURROGATE_ESCAPE)) return undefined
  try {
    const value: JsonValue = JSON.parse(text)
    const spans = new Map<object, Span>()
    // The first settles the spelling of strings and numbers, duplicate keys and whitespace, the second order and bounds.
    if (JSON.stringify(value) !== text || walk(text, spans, value, 0, 0) !== text.length) {
      // Keys that look like array indices are not enumerated in the order in which they stand.
      return canonicalize(value) === text ? { value, textOf: nothing, textWithout: nothing } : undefined
    }
    return { value, textOf: object => textOf(text, spans.get(object)), textWithout: withoutMember(text, spans) }
  } catch {
    return undefined
  }
}

/** The value of a text that is in RFC 8785 form already; undefined says nothing of the text. */
export const parseCanonical = (text: string): JsonValue | undefined => readCanonical(text)?.value

const nothing = (): undefined => undefined

const isItems = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

const NOT_CANONICAL = Number.NaN

/** Index behind the value that stands at `at` inside `depth` others; NaN when it has no canonical form. Notes its objects. */
function walk(text: string, spans: Map<object, Span>, value: JsonValue, at: number, depth: number): number {
  if (typeof value === "string") return at + unitsOf(text, value, at)
  if (typeof value === "number") {
    const exact = !Number.isInteger(value) || Number.isSafeInteger(value)
    return exact ? at + `${value}`.length : NOT_CANONICAL
  }
  if (typeof value === "boolean" || value === null) return at + `${value}`.length
  if (depth === MAX_DEPTH) return NOT_CANONICAL
  let next = at + 1
  if (isItems(value)) {
    for (const item of value) next = walk(text, spans, item, next, depth + 1) + 1
    return value.length === 0 ? at + 2 : next
  }
  const names = Object.keys(value)
  const places: number[] = []
  let before = ""
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? ""
    if (index > 0 && name < before) return NOT_CANONICAL
    before = name
    places.push(next)
    next = walk(text, spans, value[name] ?? null, next + unitsOf(text, name, next) + 1, depth + 1) + 1
  }
  const end = names.length === 0 ? at + 2 : next
  if (depth <= MAX_KEPT_DEPTH) spans.set(value, { start: at, names, places: [...places, end - 1] })
  return end
}

/**
 * Units of the JSON string at `at` that says `string`. A quote without a backslash before it ends a string, and none is
 * shorter than what it says.
 */
function unitsOf(text: string, string: string, at: number): number {
  const last = at + 1 + string.length
  const isPlain = text.charCodeAt(last) === QUOTE && text.charCodeAt(last - 1) !== BACKSLASH
  return isPlain ? string.length + 2 : JSON.stringify(string).length
}

function textOf(text: string, span: Span | undefined): string | undefined {
  return span && text.slice(span.start, (span.places.at(-1) ?? 0) + 1)
}

const withoutMember =
  (text: string, spans: ReadonlyMap<object, Span>): KnownTexts["textWithout"] =>
  (object, name) => {
    const span = spans.get(object)
    const index = span?.names.indexOf(name) ?? -1
    if (span === undefined || index === -1) return textOf(text, span)
    const { start, names, places } = span
    const [from = 0, to = 0, end = 0] = [places[index], places[index + 1], places.at(-1)]
    // With the comma behind the member, or the one before it when it is the last of several.
    if (index < names.length - 1) return text.slice(start, from) + text.slice(to, end + 1)
    return `${text.slice(start, index === 0 ? from : from - 1)}}`
  }
