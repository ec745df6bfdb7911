import { addMember, type JsonObject, type JsonValue, MAX_DEPTH } from "./json-value.ts"

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

/** What one walk over a value learns beside its ordered copy. */
interface Walk {
  /** An object lists keys such as "10" numerically and first, whatever the order they were added in. */
  hasIndexKeys: boolean
}

/** Up to this many keys insertion sort beats Array.prototype.sort. */
const FEW_KEYS = 16

/**
 * The RFC 8785 (JCS) form of `value`: no whitespace, members in UTF-16 code unit order, ECMAScript number forms.
 *
 * Throws `CanonicalizeError` on whatever cannot be sealed exactly (FORMATS.md §1): undefined, functions, symbols, bigints, NaN,
 * infinities, −0, integers outside ±(2^53−1), lone surrogates in keys or strings, symbol keys, objects with a prototype other
 * than Object.prototype, Array.prototype or null (so Date, Map, typed arrays), and nesting beyond `MAX_DEPTH` (so cycles).
 * `value` must be a tree of plain data: the work grows with the size of the text.
 *
 * The members are put in order in a copy, which JSON.stringify then writes: for checked values it escapes exactly what
 * RFC 8785 §3.2.2.2 escapes, in the same spelling, and writes numbers as §3.2.2.3 does.
 */
export function canonicalize(value: JsonValue): string {
  const walk: Walk = { hasIndexKeys: false }
  try {
    const copy = ordered(value, 0, walk)
    return walk.hasIndexKeys ? writeSorted(copy) : JSON.stringify(copy)
  } catch (error) {
    throw error instanceof Refusal ? new CanonicalizeError(error.message, error.path) : error
  }
}

/** Whether `canonicalize` accepts `value`. Never throws, unless reading a property of `value` does. */
export function isJsonValue(value: unknown): value is JsonValue {
  try {
    ordered(value, 0, { hasIndexKeys: false })
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** Checks `value` and copies it with the members of every object in order. */
function ordered(value: unknown, depth: number, walk: Walk): JsonValue {
  if (typeof value === "string") return wellFormed(value)
  if (typeof value === "number") return exact(value)
  if (typeof value === "boolean" || value === null) return value
  if (typeof value !== "object") throw new Refusal(`A value of type ${typeof value} has no JSON form.`)
  if (depth === MAX_DEPTH) throw new Refusal(`The value is nested more than ${MAX_DEPTH} levels deep.`)
  return Array.isArray(value) ? orderedArray(value, depth + 1, walk) : orderedObject(value, depth + 1, walk)
}

function wellFormed(text: string): string {
  if (!text.isWellFormed()) throw new Refusal("A string holds a lone surrogate.")
  return text
}

function exact(value: number): number {
  if (Object.is(value, -0)) throw new Refusal("Negative zero has no exact JSON form.")
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Refusal("An integer lies outside ±(2^53−1).")
  if (!Number.isFinite(value)) throw new Refusal("A number is not finite.")
  return value
}

function orderedArray(items: readonly unknown[], depth: number, walk: Walk): JsonValue {
  if (Object.getPrototypeOf(items) !== Array.prototype) throw new Refusal("An array has a foreign prototype.")
  const copy: JsonValue[] = []
  let index = 0
  try {
    for (; index < items.length; index++) copy.push(ordered(items[index], depth, walk))
  } catch (error) {
    throw error instanceof Refusal ? error.within(index) : error
  }
  return copy
}

function orderedObject(object: object, depth: number, walk: Walk): JsonObject {
  if (!isPlainObject(object)) throw new Refusal("An object is not plain data.")
  if (Object.getOwnPropertySymbols(object).length > 0) throw new Refusal("An object has a symbol as a key.")
  const copy: { [key: string]: JsonValue } = {}
  let current = ""
  try {
    for (const key of sortKeys(Object.keys(object))) {
      current = key
      if (startsWithDigit(key)) walk.hasIndexKeys = true
      addMember(copy, wellFormed(key), ordered(object[key], depth, walk))
    }
  } catch (error) {
    throw error instanceof Refusal ? error.within(current) : error
  }
  return copy
}

function isPlainObject(object: object): object is { readonly [key: string]: unknown } {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === Object.prototype || prototype === null
}

function startsWithDigit(key: string): boolean {
  const unit = key.charCodeAt(0)
  return unit >= 0x30 && unit <= 0x39
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

/** Writes a checked value whose objects cannot keep their keys in order. */
function writeSorted(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(writeSorted).join(",")}]`
  const members = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${writeSorted(value[key] ?? null)}`)
  return `{${members.join(",")}}`
}

/** Array.isArray does not narrow readonly arrays. */
function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
