/** The request header that carries the access token of an end user. docs/identity.md. */

export const END_USER_HEADER = "X-End-User-Token"
/** Characters of a token; a longer one is refused. */
export const END_USER_TOKEN_MAX_LENGTH = 8192
/** A JWS in compact form (RFC 7515 §7.1). */
export const END_USER_TOKEN_PATTERN = "^[\\w-]+\\.[\\w-]+\\.[\\w-]+$"
