import { canonicalize } from "./canonicalize.ts"
import type { JsonValue } from "./json-value.ts"

/**
 * Longest text that is tried, in UTF-16 units: the engine's own parser bounds neither nesting nor what it builds. A sealed
 * record has some 32,000.
 */
const MAX_UNITS = 262_144

/**
 * The value of a text that is in RFC 8785 form already, read by the engine's own parser; undefined says nothing of the text.
 *
 * Such a text is strict as `parseStrictJson` understands it, and has the same value: what that refuses (a duplicate key, an
 * inexact number, a lone surrogate, deep nesting) either has no canonical form or is written otherwise than it stood.
 */
export function parseCanonical(text: string): JsonValue | undefined {
  if (text.length > MAX_UNITS) return undefined
  try {
    const value: JsonValue = JSON.parse(text)
    return canonicalize(value) === text ? value : undefined
  } catch {
    return undefined
  }
}
