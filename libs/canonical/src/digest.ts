import { sha256Hex } from "#sha256"
import { canonicalBytes, type KnownTexts } from "./canonicalize.ts"
import type { JsonObject, JsonValue } from "./json-value.ts"

export { createSha256, hmacSha256Hex, sha256, sha256Hex } from "#sha256"

/**
 * The one hash of the project (docs/formats.md section 1): lowercase hex SHA-256 of the UTF-8 bytes of the RFC 8785 form of `value`.
 * Throws `CanonicalizeError` where `canonicalize` does.
 * @param known texts that need not be written again
 */
export function digest(value: JsonValue, known?: KnownTexts): string {
  return canonicalBytes(value, sha256Hex, { known })
}

/** `digest` of the object without its own member of the name `without`: what an object's own hash is taken over. */
export function digestWithout(object: JsonObject, without: string, known?: KnownTexts): string {
  return canonicalBytes(object, sha256Hex, { without, known })
}
