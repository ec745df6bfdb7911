import { sha256Hex } from "#sha256"
import { canonicalBytes } from "./canonicalize.ts"
import type { JsonObject, JsonValue } from "./json-value.ts"

export { sha256, sha256Hex } from "#sha256"

/**
 * The one hash of the project (FORMATS.md §1): lowercase hex SHA-256 of the UTF-8 bytes of the RFC 8785 form of `value`.
 * Throws `CanonicalizeError` where `canonicalize` does.
 */
export function digest(value: JsonValue): string {
  return canonicalBytes(value, sha256Hex)
}

/** `digest` of the object without its own member of the name `without`: what an object's own hash is taken over. */
export function digestWithout(object: JsonObject, without: string): string {
  return canonicalBytes(object, sha256Hex, without)
}
