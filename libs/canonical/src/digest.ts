import { sha256Hex } from "#sha256"
import { canonicalBytes } from "./canonicalize.ts"
import type { JsonValue } from "./json-value.ts"

export { sha256, sha256Hex } from "#sha256"

/**
 * The one hash of the project (FORMATS.md §1): lowercase hex SHA-256 of the UTF-8 bytes of the RFC 8785 form of `value`.
 * Throws `CanonicalizeError` where `canonicalize` does.
 */
export function digest(value: JsonValue): string {
  return canonicalBytes(value, sha256Hex)
}
