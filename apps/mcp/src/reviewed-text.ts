/** The text of a result that goes to the service for the signature scan and the review. The service stores its hash and length alone. */
import { canonicalize, type JsonObject, type JsonValue, sha256Hex } from "@runseal/canonical"
import type { PermitClosing } from "@runseal/sdk"
import { isObject } from "./json-rpc.ts"

/** Bytes that a text may have to fit, escaped, into a request of 1 MiB beside the other members. */
const TEXT_MAX_BYTES = 900_000

/** Base64 content of MCP: `data` of images and sounds, `blob` of resources. */
const BINARY: ReadonlySet<string> = new Set(["data", "blob"])
const BINARY_MIN_LENGTH = 256
const BASE64 = /^[\w+/-]+={0,2}$/

/** Bytes of a text as a string of a JSON document. */
const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text))
export const fitsRequest = (text: string): boolean => jsonBytes(text) <= TEXT_MAX_BYTES

function withoutBinary(value: JsonValue, name = ""): JsonValue {
  if (typeof value === "string")
    return BINARY.has(name) && value.length >= BINARY_MIN_LENGTH && BASE64.test(value)
      ? `sha256:${sha256Hex(value)}`
      : value
  if (Array.isArray(value)) return value.map(item => withoutBinary(item))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutBinary(member, key)]))
}

/**
 * RFC 8785 text of a result. One that is too large has the hashes of images, sounds and blobs in the place of their base64.
 * Undefined when it is too large even so.
 */
export function reviewedText(result: JsonObject): string | undefined {
  const text = canonicalize(result)
  if (fitsRequest(text)) return text
  const reduced = canonicalize(withoutBinary(result))
  return fitsRequest(reduced) ? reduced : undefined
}

/** What is sealed of a text that the service does not get: its hash, as the gateway's word. Nobody searches or reviews it. */
export const declaredOutput = (text: string): Pick<PermitClosing, "request_substance"> => ({
  request_substance: { output: { hash: sha256Hex(text) } },
})

/** The member of a close that has the text, or its hash where no text is sent. */
export const sealedText = (
  { content }: { readonly content: boolean },
  text: string,
): Pick<PermitClosing, "ai_output_text" | "request_substance"> =>
  content ? { ai_output_text: text } : declaredOutput(text)
