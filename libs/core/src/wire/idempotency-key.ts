/**
 * The request header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): an Item of type String (RFC 8941 §3.3.3).
 * A bare value without quotes, as many clients send, names the same key as the value in quotes.
 */

export const IDEMPOTENCY_KEY_HEADER = "Idempotency-Key"
/** On the answer to a request whose key had an answer already: `true`. */
export const IDEMPOTENCY_REPLAYED_HEADER = "Idempotency-Replayed"

/** Characters of a field: a key in quotes with every character escaped, and room to spare. A longer one is not parsed. */
const FIELD_MAX_LENGTH = 1024
/** Characters of a key. */
export const IDEMPOTENCY_KEY_MAX_LENGTH = 255

/** The characters of a String: ASCII without controls. */
const KEY = /^[\x20-\x7e]+$/
/** A String in its quotes; a backslash comes before a quote or a backslash only. */
const QUOTED = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** What cannot be taken for anything else: no space, quote, backslash, comma or semicolon. */
const BARE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/

/** A field that names a key, for descriptions of the API: without the spaces around it that a client may send. */
export const IDEMPOTENCY_KEY_PATTERN = `^(?:[\\x21\\x23-\\x2b\\x2d-\\x3a\\x3c-\\x5b\\x5d-\\x7e]{1,${IDEMPOTENCY_KEY_MAX_LENGTH}}|"(?:[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\["\\\\]){1,${IDEMPOTENCY_KEY_MAX_LENGTH}}")$`

/** Whether a text can be a key. */
export const isIdempotencyKey = (text: string): boolean => text.length <= IDEMPOTENCY_KEY_MAX_LENGTH && KEY.test(text)

/** The key a header field names; undefined when it is malformed, empty or too long, and for a field that was sent twice. */
export function parseIdempotencyKey(field: string): string | undefined {
  if (field.length > FIELD_MAX_LENGTH) return undefined
  const text = field.replace(/^ +| +$/g, "")
  const key = BARE.test(text) ? text : QUOTED.exec(text)?.[1]?.replace(/\\(["\\])/g, "$1")
  return key !== undefined && isIdempotencyKey(key) ? key : undefined
}

/** The header field of a key. @param key for which `isIdempotencyKey` holds */
export const idempotencyKeyField = (key: string): string => `"${key.replace(/["\\]/g, "\\$&")}"`
