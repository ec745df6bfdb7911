import { countNodes, MAX_NODES } from "./json-nodes.ts"
import { addMember, type JsonTree, type JsonValue, MAX_DEPTH, type NumberText, numberText } from "./json-value.ts"
import { positionOf, StrictJsonError, type StrictJsonErrorCode } from "./strict-json-error.ts"
import { isSurrogatePair, utf8Decode, utf8Encode, utf8Length, utf8Salvage } from "./utf8.ts"

/** 64 MiB: what one text may weigh in UTF-8 when the caller names no bound. */
export const DEFAULT_MAX_BYTES = 67_108_864

export interface StrictJsonLimits {
  /** Bound on the text, in UTF-8 bytes. */
  readonly maxBytes?: number
  /** Bound on nested arrays and objects; values above `MAX_DEPTH` mean `MAX_DEPTH`. */
  readonly maxDepth?: number
  /** Reads −0 as 0 in any spelling, for requests; a sealed document has no −0. */
  readonly acceptsNegativeZero?: boolean
  /** Bound on nodes, as `countNodes` counts them; values above `MAX_NODES` mean `MAX_NODES`. */
  readonly maxNodes?: number
}

/** Behind every index that an object may have between others without the engine making room for those it has not. */
const FAR_INDEX = 4_294_967_294

/**
 * Reads one I-JSON text (RFC 7493 within RFC 8259) in one pass and in linear time.
 *
 * Refuses with `StrictJsonError`, at the exact position, whatever RFC 8785 could not give back (docs/formats.md section 1): duplicate keys
 * (compared after unescaping), lone surrogates, raw or escaped, −0 in any spelling unless that is accepted, integers outside ±(2^53−1) in any
 * spelling, numbers whose decimal value a double does not carry, nesting beyond `maxDepth`, texts beyond `maxBytes`, invalid
 * UTF-8, a byte order mark, data after the value. U+0000 in strings is accepted. "__proto__" becomes an own, ordinary key.
 *
 * A text beyond `maxBytes` or `maxNodes` is refused before anything is built of it, without a position.
 */
export const parseStrictJson = (input: string | Uint8Array, limits: StrictJsonLimits = {}): JsonValue =>
  parse(input, limits, (_, value) => value)

/** The same text, refused for the same reasons, with each number as it is written. */
export const parseNumberTexts = (input: string | Uint8Array, limits: StrictJsonLimits = {}): JsonTree<NumberText> =>
  parse(input, limits, numberText)

function parse<N>(input: string | Uint8Array, limits: StrictJsonLimits, numberOf: Source<N>["numberOf"]): JsonTree<N> {
  const source = open(input, limits, numberOf)
  if (source.text.startsWith("\ufeff")) throw failure(source, "byte_order_mark", 0)
  skipWhitespace(source)
  const value = readValue(source, 0)
  skipWhitespace(source)
  if (source.at < source.text.length) throw failure(source, "trailing_data", source.at)
  return value
}

/** What `parseStrictJson` gives; undefined for what it refuses. For readers that need not say why. */
export function readStrictJson(input: string | Uint8Array): JsonValue | undefined {
  try {
    return parseStrictJson(input)
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

function open<N>(input: string | Uint8Array, limits: StrictJsonLimits, numberOf: Source<N>["numberOf"]): Source<N> {
  const maxDepth = Math.min(limits.maxDepth ?? MAX_DEPTH, MAX_DEPTH)
  if (exceeds(input, limits.maxBytes ?? DEFAULT_MAX_BYTES)) {
    throw new StrictJsonError("too_large", { offset: 0, line: 1, column: 1 })
  }
  if (holdsMoreNodes(input, Math.min(limits.maxNodes ?? MAX_NODES, MAX_NODES))) {
    throw new StrictJsonError("too_many_nodes", { offset: 0, line: 1, column: 1 })
  }
  const { acceptsNegativeZero = false } = limits
  const start = { maxDepth, acceptsNegativeZero, numberOf, at: 0, items: [], itemCount: 0 }
  if (typeof input === "string") return { ...start, text: input, unit: "code units" }
  const text = utf8Decode(input)
  if (text !== undefined) return { ...start, text, unit: "bytes" }
  const salvage = utf8Salvage(input)
  throw new StrictJsonError("invalid_utf8", positionOf(salvage.text, salvage.invalidAt, "bytes"))
}

/** A UTF-16 code unit makes 1 to 3 bytes of UTF-8, so most strings need no count. */
function exceeds(input: string | Uint8Array, maxBytes: number): boolean {
  if (input.length > maxBytes) return true
  return typeof input === "string" && 3 * input.length > maxBytes && utf8Length(input) > maxBytes
}

/** Each node is a character, so that most texts need no count. */
const holdsMoreNodes = (input: string | Uint8Array, maxNodes: number): boolean =>
  input.length > maxNodes && countNodes(typeof input === "string" ? utf8Encode(input) : input, maxNodes + 1) > maxNodes

function readValue<N>(source: Source<N>, depth: number): JsonTree<N> {
  switch (source.text.charCodeAt(source.at)) {
    case 0x22:
      return readString(source)
    case 0x7b:
      return readObject(source, depth + 1)
    case 0x5b:
      return readArray(source, depth + 1)
    case 0x74:
      return readWord(source, "true", true)
    case 0x66:
      return readWord(source, "false", false)
    case 0x6e:
      return readWord(source, "null", null)
    default:
      return readNumber(source)
  }
}

/** An array that grows item by item has room for seventeen as soon as it has one: it is made when all its items are read. */
function readArray<N>(source: Source<N>, depth: number): JsonTree<N>[] {
  if (depth > source.maxDepth) throw failure(source, "too_deep", source.at)
  const { items, itemCount: first } = source
  source.at++
  skipWhitespace(source)
  if (source.text.charCodeAt(source.at) !== 0x5d) {
    do {
      const item = readValue(source, depth)
      items[source.itemCount++] = item
      skipWhitespace(source)
    } while (accept(source, 0x2c))
  }
  expectUnit(source, 0x5d)
  const array = items.slice(first, source.itemCount)
  source.itemCount = first
  return array
}

function readObject<N>(source: Source<N>, depth: number): { readonly [key: string]: JsonTree<N> } {
  if (depth > source.maxDepth) throw failure(source, "too_deep", source.at)
  const object: { [key: string]: JsonTree<N> } = {}
  source.at++
  skipWhitespace(source)
  if (source.text.charCodeAt(source.at) !== 0x7d) {
    let sparse = false
    do {
      const isIndex = isDigit(source.text.charCodeAt(source.at + 1))
      if (isIndex && !sparse) makeSparse(object)
      sparse ||= isIndex
      readMember(source, object, depth)
    } while (accept(source, 0x2c))
  }
  expectUnit(source, 0x7d)
  return object
}

/**
 * Has the engine keep members whose names are array indices in a table: it would make room for all indices below one, so that
 * {"1000":1} took eight kilobytes. An object that has had a far index stays so when that is gone.
 */
function makeSparse(object: { [key: string]: unknown }): void {
  object[FAR_INDEX] = null
  delete object[FAR_INDEX]
}

function readMember<N>(source: Source<N>, object: { [key: string]: JsonTree<N> }, depth: number): void {
  const keyAt = source.at
  const key = readString(source)
  // No JSON value is undefined, so the cheap read rules out most keys; inherited names need the exact question.
  if (object[key] !== undefined && Object.hasOwn(object, key)) throw failure(source, "duplicate_key", keyAt)
  skipWhitespace(source)
  expectUnit(source, 0x3a)
  skipWhitespace(source)
  addMember(object, key, readValue(source, depth))
  skipWhitespace(source)
}

/** Code units that may follow a backslash on their own: " \ / b f n r t. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74])
const UNIT_ESCAPE = /^\\u[0-9a-fA-F]{4}$/

/** A text being read from front to back. */
interface Source<N = unknown> {
  readonly text: string
  readonly unit: "bytes" | "code units"
  readonly maxDepth: number
  readonly acceptsNegativeZero: boolean
  /** What a number is read as, of its characters and the double that is exactly it. */
  readonly numberOf: (text: string, value: number) => N
  /** Index of the next code unit to read. */
  at: number
  /** Items of the arrays that are being read, those of an inner one behind those of the one around it. */
  readonly items: JsonTree<N>[]
  /** Items in use; those after them were copied to an array already. */
  itemCount: number
}

/** The refusal of the text at UTF-16 index `at`. */
function failure(source: Source, code: StrictJsonErrorCode, at: number): StrictJsonError {
  return new StrictJsonError(code, positionOf(source.text, at, source.unit))
}

/** Steps over the four whitespace characters of JSON (RFC 8259 §2). */
function skipWhitespace(source: Source): void {
  const { text } = source
  let at = source.at
  for (;;) {
    const unit = text.charCodeAt(at)
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) break
    at++
  }
  source.at = at
}

/** Reads the literal name `word`, which means `value`. */
function readWord(source: Source, word: string, value: boolean | null): boolean | null {
  for (let index = 0; index < word.length; index++) expectUnit(source, word.charCodeAt(index))
  return value
}

/** Steps over `unit`, which must be next. */
function expectUnit(source: Source, unit: number): void {
  if (source.text.charCodeAt(source.at) !== unit) throw failure(source, "syntax", source.at)
  source.at++
}

/** Steps over `unit` and the whitespace after it, if `unit` is next. */
function accept(source: Source, unit: number): boolean {
  if (source.text.charCodeAt(source.at) !== unit) return false
  source.at++
  skipWhitespace(source)
  return true
}

/** Reads a string literal (RFC 8259 §7) of well-formed Unicode. */
function readString(source: Source): string {
  const { text } = source
  const start = source.at
  expectUnit(source, 0x22)
  let at = source.at
  let escaped = false
  for (;;) {
    const unit = text.charCodeAt(at)
    if (unit === 0x22) break
    if (unit === 0x5c) {
      at = skipEscape(source, at)
      escaped = true
    } else if (unit >= 0x20 && (unit & 0xf800) !== 0xd800) at++
    else if (isSurrogatePair(text, at)) at += 2
    else throw failure(source, unit >= 0xd800 ? "lone_surrogate" : "syntax", at)
  }
  source.at = at + 1
  // The literal is checked; decoding it natively keeps memory linear however many escapes it holds.
  return escaped ? String(JSON.parse(text.slice(start, at + 1))) : text.slice(start + 1, at)
}

/** Index behind the escape whose backslash is at `at`; an escaped surrogate pair is one escape. */
function skipEscape(source: Source, at: number): number {
  if (SHORT_ESCAPES.has(source.text.charCodeAt(at + 1))) return at + 2
  const unit = escapedUnit(source.text, at)
  if (unit === undefined) throw failure(source, "syntax", at)
  if ((unit & 0xf800) !== 0xd800) return at + 6
  const low = escapedUnit(source.text, at + 6)
  if (unit >= 0xdc00 || low === undefined || (low & 0xfc00) !== 0xdc00) throw failure(source, "lone_surrogate", at)
  return at + 12
}

/** The code unit that a \u escape at `at` writes, undefined when there is none. */
function escapedUnit(text: string, at: number): number | undefined {
  const written = text.slice(at, at + 6)
  return UNIT_ESCAPE.test(written) ? Number.parseInt(written.slice(2), 16) : undefined
}

/** Reads a number (RFC 8259 §6) that a double carries exactly. */
function readNumber<N>(source: Source<N>): N {
  const { text } = source
  const start = source.at
  let at = text.charCodeAt(start) === 0x2d ? start + 1 : start
  at = text.charCodeAt(at) === 0x30 ? at + 1 : skipDigits(source, at)
  if (text.charCodeAt(at) === 0x2e) at = skipDigits(source, at + 1)
  const hasExponent = (text.charCodeAt(at) | 0x20) === 0x65
  if (hasExponent) {
    const sign = text.charCodeAt(at + 1)
    at = skipDigits(source, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1)
  }
  const token = text.slice(start, at)
  const value = exactNumber(token, hasExponent)
  const isZero = value === "negative_zero" && source.acceptsNegativeZero
  if (typeof value === "string" && !isZero) throw failure(source, value, start)
  source.at = at
  return source.numberOf(token, typeof value === "string" ? 0 : value)
}

/** Index behind the digits at `at`, of which there must be one. */
function skipDigits(source: Source, at: number): number {
  let end = at
  while (isDigit(source.text.charCodeAt(end))) end++
  if (end === at) throw failure(source, "syntax", at)
  return end
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}

/** Decimal value of a JSON number token, its sign apart: `digits` × 10^`exponent`. Zero is { digits: "", exponent: 0 }. */
interface Decimal {
  /** No leading and no trailing zeros, so that equal values have equal digits. */
  readonly digits: string
  readonly exponent: number
}

/** What a number token means: the double that is exactly it, or why there is none. */
type ExactNumber = number | "unsafe_integer" | "inexact_number" | "negative_zero"

/** A token this short without an exponent has at most 15 significant digits, which every double carries exactly (DBL_DIG). */
const ALWAYS_EXACT_LENGTH = 15

/**
 * The double of a JSON number token (RFC 8259 §6) when its RFC 8785 form has the same decimal value and, if an integer, lies
 * within ±(2^53−1) (RFC 7493 §2.2). The comparison is made on decimal digits, in time linear in the token. A token beyond the
 * largest double is inexact, not unsafe.
 */
function exactNumber(token: string, hasExponent: boolean): ExactNumber {
  const value = Number(token)
  if (value !== 0 && !hasExponent && token.length <= ALWAYS_EXACT_LENGTH) return value
  if (!Number.isFinite(value)) return "inexact_number"
  const written = decimalOf(token)
  if (written.digits === "") return token.startsWith("-") ? "negative_zero" : 0
  if (written.exponent >= 0 && !Number.isSafeInteger(value)) return "unsafe_integer"
  const carried = decimalOf(`${value}`)
  return written.digits === carried.digits && written.exponent === carried.exponent ? value : "inexact_number"
}

function decimalOf(token: string): Decimal {
  const exponentAt = token.search(/[eE]/)
  const mantissa = exponentAt === -1 ? token : token.slice(0, exponentAt)
  const [integer = "", fraction = ""] = mantissa.replace("-", "").split(".")
  const all = integer + fraction
  let first = 0
  while (first < all.length && all.charAt(first) === "0") first++
  let end = all.length
  while (end > first && all.charAt(end - 1) === "0") end--
  if (first === end) return { digits: "", exponent: 0 }
  // A written exponent too long for a double's integer range belongs to a number no double carries: it compares unequal.
  const written = exponentAt === -1 ? 0 : Number(token.slice(exponentAt + 1))
  return { digits: all.slice(first, end), exponent: written - fraction.length + (all.length - end) }
}
