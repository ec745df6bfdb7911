import type { JsonObject, JsonValue } from "./json-value.ts"

/**
 * The value as I-JSON, for which there is an RFC 8785 text. What that cannot write becomes a text, so that a search of the result misses
 * nothing: numbers outside ±(2^53−1); halves of surrogate pairs, as U+FFFD; what is inside more than `maxDepth` objects and lists, with
 * its names, texts and numbers one behind the other. Names that become the same text make a list of pairs. −0 becomes 0.
 *
 * @param value as `JSON.parse` gives it, nested as deep as it may be; a list holds itself nowhere
 * @param maxDepth at least 1, at most `MAX_DEPTH`
 */
export const strictValue = (value: JsonValue, maxDepth: number): JsonValue => strict(value, maxDepth, 0)

function strict(value: JsonValue, maxDepth: number, depth: number): JsonValue {
  if (typeof value === "string") return value.toWellFormed()
  if (typeof value === "number") return strictNumber(value)
  if (value === null || typeof value !== "object") return value
  if (depth === maxDepth) return textsIn(value).toWellFormed()
  if (isList(value)) return value.map(item => strict(item, maxDepth, depth + 1))
  const pairs = Object.entries(value).map(
    ([name, member]) => [name.toWellFormed(), strict(member, maxDepth, depth + 1)] as const,
  )
  const members: JsonObject = Object.fromEntries(pairs)
  return Object.keys(members).length === pairs.length ? members : pairs
}

function strictNumber(value: number): JsonValue {
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return `${value}`
  return value === 0 ? 0 : value
}

/** The names, texts and numbers of a value, in their order. Without recursion, since the value may be nested without a bound. */
function textsIn(value: JsonValue): string {
  const found: string[] = []
  const waiting: JsonValue[] = [value]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next === null || typeof next !== "object") found.push(`${next}`)
    else if (isList(next)) for (let at = next.length - 1; at >= 0; at -= 1) waiting.push(next[at] ?? null)
    else for (const [name, member] of Object.entries(next).reverse()) waiting.push(member, name)
  }
  return found.join(" ")
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)
