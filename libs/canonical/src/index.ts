export { compareBytes, concatBytes, equalBytes } from "./bytes.ts"
export { type CanonicalText, parseCanonical, readCanonical } from "./canonical-text.ts"
export type { KnownTexts } from "./canonicalize.ts"
export { CanonicalizeError, canonicalize, canonicalUtf8, isJsonValue } from "./canonicalize.ts"
export { createSha256, digest, digestWithout, hmacSha256Hex, sha256, sha256Hex } from "./digest.ts"
export {
  BASE64_PATTERN,
  decodeBase64,
  decodeBase64Url,
  decodeDecimal,
  decodeHex,
  decodeSafeDecimal,
  encodeBase64,
  encodeBase64Url,
  encodeHex,
  isSha256Hex,
} from "./encoding.ts"
export { countNodes, holdsNul, MAX_NODES } from "./json-nodes.ts"
export {
  type DeepReadonly,
  type JsonObject,
  type JsonTree,
  type JsonValue,
  MAX_DEPTH,
  type NumberText,
  numberText,
  textOfNumber,
} from "./json-value.ts"
export { onlyMembers, type WantedMembers } from "./only-members.ts"
export {
  DEFAULT_MAX_BYTES,
  parseNumberTexts,
  parseStrictJson,
  readStrictJson,
  type StrictJsonLimits,
} from "./strict-json.ts"
export { type Position, StrictJsonError, type StrictJsonErrorCode } from "./strict-json-error.ts"
export { strictValue } from "./strict-value.ts"
export { utf8Decode, utf8Encode } from "./utf8.ts"
export { type WrittenTexts, writtenTexts } from "./written-texts.ts"
