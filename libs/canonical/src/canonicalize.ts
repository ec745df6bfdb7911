import { type JsonValue, MAX_DEPTH } from "./json-value.ts"

declare global {
  // ES2024, in Node since 20 and in browsers since 2023; the libs compile against ES2023.
  interface String {
    isWellFormed(): boolean
  }
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

/** Anything but text that stands between its quotes as it is: what RFC 8785 §3.2.2.2 escapes, and surrogates, paired or not. */
const NOT_PLAIN = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/**
 * The RFC 8785 (JCS) form of `value`: no whitespace, members in UTF-16 code unit order, ECMAScript number forms.
 *
 * Throws `CanonicalizeError` on whatever cannot be sealed exactly (FORMATS.md §1): undefined, functions, symbols, bigints, NaN,
 * infinities, −0, integers outside ±(2^53−1), lone surrogates in keys or strings, symbol keys, objects with a prototype other
 * than Object.prototype, Array.prototype or null (so Date, Map, typed arrays), and nesting beyond `MAX_DEPTH` (so cycles).
 * `value` must be a tree of plain data: the work grows with the size of the text.
 */
export function canonicalize(value: JsonValue): string {
  try {
    return written(value, 0)
  } catch (error) {
    throw error instanceof Refusal ? new CanonicalizeError(error.message, error.path) : error
  }
}

/** Whether `canonicalize` accepts `value`. Never throws, unless reading a property of `value` does. */
export function isJsonValue(value: unknown): value is JsonValue {
  try {
    written(value, 0)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** Checks and writes `value`, which stands inside `depth` arrays and objects. */
function written(value: unknown, depth: number): string {
  if (typeof value === "string") return quoted(value)
  if (typeof value === "number") return exact(value)
  if (typeof value === "boolean" || value === null) return `${value}`
  if (typeof value !== "object") throw new Refusal(`A value of type ${typeof value} has no JSON form.`)
  if (depth === MAX_DEPTH) throw new Refusal(`The value is nested more than ${MAX_DEPTH} levels deep.`)
  return Array.isArray(value) ? writtenArray(value, depth + 1) : writtenObject(value, depth + 1)
}

/** For well-formed text JSON.stringify escapes exactly what RFC 8785 §3.2.2.2 escapes, in the same spelling. */
function quoted(text: string): string {
  if (!NOT_PLAIN.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new Refusal("A string holds a lone surrogate.")
  return JSON.stringify(text)
}

/** The ECMAScript form of a number (RFC 8785 §3.2.2.3). */
function exact(value: number): string {
  if (Object.is(value, -0)) throw new Refusal("Negative zero has no exact JSON form.")
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Refusal("An integer lies outside ±(2^53−1).")
  if (!Number.isFinite(value)) throw new Refusal("A number is not finite.")
  return `${value}`
}

function writtenArray(items: readonly unknown[], depth: number): string {
  if (Object.getPrototypeOf(items) !== Array.prototype) throw new Refusal("An array has a foreign prototype.")
  let text = "["
  let index = 0
  try {
    for (; index < items.length; index++) text += `${index === 0 ? "" : ","}${written(items[index], depth)}`
  } catch (error) {
    throw error instanceof Refusal ? error.within(index) : error
  }
  return `${text}]`
}

function writtenObject(object: object, depth: number): string {
  if (!isPlainObject(object)) throw new Refusal("An object is not plain data.")
  if (Object.getOwnPropertySymbols(object).length > 0) throw new Refusal("An object has a symbol as a key.")
  let text = "{"
  let current = ""
  try {
    for (const key of sortKeys(Object.keys(object))) {
      current = key
      text += `${text === "{" ? "" : ","}${quoted(key)}:${written(object[key], depth)}`
    }
  } catch (error) {
    throw error instanceof Refusal ? error.within(current) : error
  }
  return `${text}}`
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
