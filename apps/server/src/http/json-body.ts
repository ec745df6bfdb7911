/** Reads a request body as strict I-JSON, within bounds, before anything else looks at it. FORMATS §1. */
import type { JsonObject } from "@runseal/canonical"
import { concatBytes, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { badRequest, HttpError } from "./http-error.ts"

/** Largest request body in bytes. FORMATS §8. */
export const BODY_MAX_BYTES = 1_048_576
/** Deepest nesting of a request body; a bundle wraps it in two further levels. */
const BODY_MAX_DEPTH = 64

export type BodyLimits = { readonly maxBytes: number; readonly maxDepth: number }
const REQUEST_LIMITS: BodyLimits = { maxBytes: BODY_MAX_BYTES, maxDepth: BODY_MAX_DEPTH }
/** A bundle holds what a request held, and its seals: it may be larger and two levels deeper. */
export const DOCUMENT_LIMITS: BodyLimits = { maxBytes: 4_194_304, maxDepth: 66 }

/** How far a body that is too large is read and thrown away, so that a sender who is not done yet gets to read the refusal. */
const DISCARD_MAX_BYTES = 134_217_728

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = (): HttpError => new HttpError(413, `The body is larger than ${maxBytes} bytes.`)
  const cutShort = (): never => {
    throw badRequest("The body ended before it was complete.")
  }
  const declared = request.headers.get("content-length")
  if (declared !== null) {
    if (Number(declared) > maxBytes) throw tooLarge()
    // No socket gives more than was declared, so nothing need be counted; without a stream no second Request is built.
    return new Uint8Array(await request.arrayBuffer().catch(cutShort))
  }
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  const parts: Uint8Array[] = []
  let size = 0
  while (size <= DISCARD_MAX_BYTES) {
    const { done, value } = await reader.read().catch(cutShort)
    if (done) break
    size += value.length
    if (size <= maxBytes) parts.push(value)
    else parts.length = 0
  }
  if (size > maxBytes) throw tooLarge()
  return concatBytes(...parts)
}

/** JSON is UTF-8 (RFC 8259 §8.1); a parameter that says otherwise is a mistake of the sender. */
const isJson = (contentType: string | null): boolean =>
  contentType !== null && /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i.test(contentType.trim())

const isPlain = (encoding: string | null): boolean => encoding === null || encoding.trim().toLowerCase() === "identity"

/** A body as it was received, and what it says. */
export type JsonBody = { readonly bytes: Uint8Array; readonly object: JsonObject }

/** The body as a JSON object. @throws HttpError as `readJsonBody` */
export const readJsonObject = async (request: Request, limits?: BodyLimits): Promise<JsonObject> =>
  (await readJsonBody(request, limits)).object

/**
 * The body as a JSON object, with its bytes.
 * @throws HttpError 400 for what is not strict JSON or no object, 413 for size
 */
export async function readJsonBody(request: Request, limits: BodyLimits = REQUEST_LIMITS): Promise<JsonBody> {
  // Demanded also because a browser cannot send it to another origin without asking first.
  if (!isJson(request.headers.get("content-type"))) throw badRequest("Content-Type must be application/json.")
  if (!isPlain(request.headers.get("content-encoding"))) throw badRequest("Content-Encoding is not supported.")
  const bytes = await readBytes(request, limits.maxBytes)
  try {
    const object = parseStrictJson(bytes, limits)
    if (!isObject(object)) throw badRequest("The body must be a JSON object.")
    return { bytes, object }
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    throw badRequest(`The body is not strict JSON: ${error.message}`)
  }
}
