import { type ByteSink, openSink, putAscii, putBytes, putString, sinkBytes } from "./byte-sink.ts"
import { type JsonValue, MAX_DEPTH } from "./json-value.ts"
import { utf8Decode } from "./utf8.ts"

/** Canonical texts of objects that need not be written again, as UTF-8. Nobody may change the bytes. */
export interface KnownTexts {
  /** The RFC 8785 form of an object; undefined when it is not known. */
  readonly bytesOf: (object: object) => Uint8Array | undefined
  /** The same of the object without its own member of that name, if it has one: what it is put together of. */
  readonly piecesWithout: (object: object, name: string) => readonly Uint8Array[] | undefined
}

/** A value that has no exact RFC 8785 form. `path` is the RFC 6901 JSON pointer of the refused value or member. */
export class CanonicalizeError extends Error {
  readonly path: string

  constructor(message: string, path: string) {
    super(message)
    this.name = "CanonicalizeError"
    this.path = path
  }
}

/** Thrown while checking; each level it leaves prepends its key, so that paths cost nothing when all is well. */
class Refusal extends Error {
  path = ""

  within(key: string | number): this {
    this.path = `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}${this.path}`
    return this
  }
}

/** Up to this many keys insertion sort beats Array.prototype.sort. */
const FEW_KEYS = 16

/**
 * The RFC 8785 (JCS) form of `value`: no whitespace, members in UTF-16 code unit order, ECMAScript number forms.
 *
 * Throws `CanonicalizeError` on whatever cannot be sealed exactly (docs/formats.md section 1): undefined, functions, symbols, bigints, NaN,
 * infinities, −0, integers outside ±(2^53−1), lone surrogates in keys or strings, symbol keys, objects with a prototype other
 * than Object.prototype, Array.prototype or null (so Date, Map, typed arrays), and nesting beyond `MAX_DEPTH` (so cycles).
 * `value` must be a tree of plain data: the work grows with the size of the text.
 */
export function canonicalize(value: JsonValue): string {
  return canonicalBytes(value, bytes => utf8Decode(bytes) ?? "")
}

/**
 * The UTF-8 bytes of `canonicalize(value)`. Throws where that does.
 * @param known texts that need not be written again
 */
export const canonicalUtf8 = (value: JsonValue, known?: KnownTexts): Uint8Array =>
  canonicalBytes(value, bytes => bytes.slice(), { known })

/** What decides how a value is written. */
interface WriteOptions {
  /** The own member of the value itself that is left out: the sink has a gap there. */
  readonly without?: string
  /** Asked for each object before it is written. */
  readonly known?: KnownTexts | undefined
}

/**
 * What `use` makes of the UTF-8 bytes of `canonicalize(value)`. The bytes are on loan: they are overwritten once `use` has
 * returned. Throws where `canonicalize` does.
 */
export function canonicalBytes<T>(value: JsonValue, use: (bytes: Uint8Array) => T, options: WriteOptions = {}): T {
  const sink = openSink()
  try {
    putCanonical(sink, value, options)
    return use(sinkBytes(sink))
  } finally {
    sink.free = true
  }
}

/** Writes `canonicalize(value)` behind what is written already. Throws where that does, and nothing is written then. */
export function putCanonical(sink: ByteSink, value: JsonValue, { without, known }: WriteOptions): void {
  const start = sink.length
  try {
    write(sink, value, 0, known, without)
  } catch (error) {
    sink.length = start
    throw error instanceof Refusal ? new CanonicalizeError(error.message, error.path) : error
  }
}

/** Whether `canonicalize` accepts `value`. Never throws, unless reading a property of `value` does. */
export function isJsonValue(value: unknown): value is JsonValue {
  const sink = openSink()
  try {
    write(sink, value, 0, undefined)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  } finally {
    sink.free = true
  }
}

/** Checks and writes `value`, which is inside `depth` arrays and objects; of an object, all but its member `without`. */
function write(sink: ByteSink, value: unknown, depth: number, known: KnownTexts | undefined, without?: string): void {
  if (typeof value === "string") writeString(sink, value)
  else if (typeof value === "number") putAscii(sink, exact(value))
  else if (typeof value === "boolean" || value === null) putAscii(sink, `${value}`)
  else if (typeof value !== "object") throw new Refusal(`A value of type ${typeof value} has no JSON form.`)
  else if (depth === MAX_DEPTH) throw new Refusal(`The value is nested more than ${MAX_DEPTH} levels deep.`)
  else if (Array.isArray(value)) writeArray(sink, value, depth + 1, known)
  else writeObject(sink, value, depth + 1, known, without)
}

function writeString(sink: ByteSink, text: string): void {
  if (!putString(sink, text)) throw new Refusal("A string holds a lone surrogate.")
}

/** The ECMAScript form of a number (RFC 8785 §3.2.2.3). */
function exact(value: number): string {
  if (Object.is(value, -0)) throw new Refusal("Negative zero has no exact JSON form.")
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Refusal("An integer lies outside ±(2^53−1).")
  if (!Number.isFinite(value)) throw new Refusal("A number is not finite.")
  return `${value}`
}

function writeArray(sink: ByteSink, items: readonly unknown[], depth: number, known: KnownTexts | undefined): void {
  if (Object.getPrototypeOf(items) !== Array.prototype) throw new Refusal("An array has a foreign prototype.")
  let index = 0
  putAscii(sink, "[")
  try {
    for (; index < items.length; index++) {
      if (index > 0) putAscii(sink, ",")
      write(sink, items[index], depth, known)
    }
  } catch (error) {
    throw error instanceof Refusal ? error.within(index) : error
  }
  putAscii(sink, "]")
}

function writeObject(
  sink: ByteSink,
  object: object,
  depth: number,
  known: KnownTexts | undefined,
  without: string | undefined,
): void {
  if (known !== undefined && putKnown(sink, object, known, without)) return
  if (!isPlainObject(object)) throw new Refusal("An object is not plain data.")
  if (Object.getOwnPropertySymbols(object).length > 0) throw new Refusal("An object has a symbol as a key.")
  let current = ""
  let before = "{"
  try {
    for (const key of sortKeys(Object.keys(object))) {
      current = key
      if (key === without) {
        sink.gap = sink.length
        continue
      }
      putAscii(sink, before)
      writeString(sink, key)
      putAscii(sink, ":")
      write(sink, object[key], depth, known)
      before = ","
    }
  } catch (error) {
    throw error instanceof Refusal ? error.within(current) : error
  }
  putAscii(sink, before === "{" ? "{}" : "}")
}

/** Writes an object whose text is known; false, and nothing, when it is not. */
function putKnown(sink: ByteSink, object: object, known: KnownTexts, without: string | undefined): boolean {
  const whole = without === undefined ? known.bytesOf(object) : undefined
  const pieces = without === undefined ? undefined : known.piecesWithout(object, without)
  if (whole !== undefined) putBytes(sink, whole)
  for (const piece of pieces ?? []) putBytes(sink, piece)
  return (whole ?? pieces) !== undefined
}

function isPlainObject(object: object): object is { readonly [key: string]: unknown } {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === Object.prototype || prototype === null
}

/** Sorts in place by UTF-16 code units (RFC 8785 §3.2.3), which is how ECMAScript compares strings. */
function sortKeys(keys: string[]): string[] {
  if (keys.length > FEW_KEYS) return keys.sort()
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index] ?? ""
    let hole = index
    for (let before = keys[hole - 1]; before !== undefined && before > key; before = keys[hole - 1])
      keys[hole--] = before
    keys[hole] = key
  }
  return keys
}
