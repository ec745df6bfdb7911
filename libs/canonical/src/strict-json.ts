import { countNodes, MAX_NODES } from "./json-nodes.ts"
import {
  accept,
  expectUnit,
  failure,
  isDigit,
  readNumber,
  readString,
  readWord,
  type Source,
  skipWhitespace,
} from "./json-tokens.ts"
import { addMember, type JsonTree, type JsonValue, MAX_DEPTH, type NumberText, numberText } from "./json-value.ts"
import { positionOf, StrictJsonError } from "./strict-json-error.ts"
import { utf8Decode, utf8Encode, utf8Length, utf8Salvage } from "./utf8.ts"

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
