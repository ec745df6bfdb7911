/** Largest bodies of requests, in bytes. docs/api.md, "Limits". */

/** Of most endpoints. */
export const BODY_MAX_BYTES = 1_048_576
/** Of a document that is verified, which holds a request's members and their seals; and of what agents and exporters send. */
export const DOCUMENT_MAX_BYTES = 4_194_304
/** Of a body that holds one token, or little more. */
export const SMALL_BODY_MAX_BYTES = 65_536
