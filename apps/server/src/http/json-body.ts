/** Reads a request body as strict I-JSON, within bounds, before anything else reads it. docs/formats.md section 1. */

import type { HttpBindings } from "@hono/node-server"
import { BODY_MAX_BYTES, DOCUMENT_MAX_BYTES, type Endpoint, SMALL_BODY_MAX_BYTES } from "@runseal/api/endpoint"
import type { JsonObject, StrictJsonLimits } from "@runseal/canonical"
import { concatBytes, countNodes, MAX_NODES, parseStrictJson, StrictJsonError } from "@runseal/canonical"
import { isObject } from "@runseal/core/vocabulary/json-members"
import type { Context, MiddlewareHandler } from "hono"
import { HttpError } from "../http-error.ts"
import type { BodyHold, BodyRoom } from "./body-room.ts"

/** Deepest nesting of a request body; a bundle wraps it in two further levels. */
const BODY_MAX_DEPTH = 64
/**
 * Most nodes of a request body: each step of a run takes time for each of them, and the event loop does one step at a time. A record has
 * those of an opening and of its close, so that every reader accepts it. Decision 0108.
 */
export const BODY_MAX_NODES = 131_072

type BodyLimits = Required<Pick<StrictJsonLimits, "maxBytes" | "maxDepth" | "maxNodes">> & StrictJsonLimits
/** Some languages write −0.0 for a zero that was rounded; it is sealed as 0. */
const REQUEST_LIMITS: BodyLimits = {
  maxBytes: BODY_MAX_BYTES,
  maxDepth: BODY_MAX_DEPTH,
  maxNodes: BODY_MAX_NODES,
  acceptsNegativeZero: true,
}
/** A bundle holds a request's members and their seals: it may be larger, two levels deeper, and have more nodes. */
const DOCUMENT_LIMITS: BodyLimits = { maxBytes: DOCUMENT_MAX_BYTES, maxDepth: 66, maxNodes: MAX_NODES }

/** Of a body that holds one token, sent by callers without a key. */
const SMALL_LIMITS: BodyLimits = { maxBytes: SMALL_BODY_MAX_BYTES, maxDepth: 8, maxNodes: 64 }

/** The bounds of the body of a request, by the largest one that its endpoint takes. */
export function bodyLimits(c: Context): BodyLimits {
  const maxBytes = c.get("endpoint")?.body?.max_bytes
  const limits = [REQUEST_LIMITS, DOCUMENT_LIMITS, SMALL_LIMITS].find(each => each.maxBytes === maxBytes)
  if (limits === undefined) throw new Error("the row of this endpoint has no body, or one without bounds")
  return limits
}

/** A body of which nothing arrives for so long is given up, in milliseconds. */
const STILL_MS = 10_000

declare module "hono" {
  interface ContextVariableMap {
    /** The memory that the request holds. */
    bodyHold: BodyHold | undefined
    /** The row of the request; absent for what is no endpoint. */
    endpoint: Endpoint | undefined
  }
}

/**
 * Middleware that counts the memory of each request: of its body until it is answered, of its answer until that was sent.
 * @param callerOf names whose memory it is, when the body is read
 */
export const holdBodies =
  (room: BodyRoom, callerOf: (c: Context) => string): MiddlewareHandler<{ Bindings: Partial<HttpBindings> }> =>
  async (c, next) => {
    const outgoing = c.env?.outgoing
    const outer = outgoing && firstHolds.get(outgoing)
    const hold = room.open(() => callerOf(c), outer)
    if (outgoing !== undefined && outer === undefined) firstHolds.set(outgoing, hold)
    c.set("bodyHold", hold)
    await next().finally(hold.release)
    // Without a socket the answer is complete now.
    if (outgoing === undefined || outgoing.closed) hold.sent()
    else onceClosed(outgoing, hold.sent)
  }

/** The hold of the request that a socket brought, by its answer. The requests that a door makes for the same answer come after it. */
const firstHolds = new WeakMap<HttpBindings["outgoing"], BodyHold>()

/** What is to be done when an answer was sent. A page of the console makes many requests for one answer, which has one listener. */
const whenClosed = new WeakMap<HttpBindings["outgoing"], (() => void)[]>()

function onceClosed(outgoing: HttpBindings["outgoing"], then: () => void): void {
  const others = whenClosed.get(outgoing)
  if (others !== undefined) {
    others.push(then)
    return
  }
  const all = [then]
  whenClosed.set(outgoing, all)
  outgoing.once("close", () => {
    for (const each of all) each()
  })
}

function holdOf(c: Context): BodyHold {
  const hold: BodyHold | undefined = c.get("bodyHold")
  if (hold === undefined) throw new Error("this route reads a body and is registered before the memory budget")
  return hold
}

/**
 * Resolves when a record of so many UTF-16 units may be read for the answer; at once unless it is large.
 * @throws HttpError 503 when too many large ones are being answered
 */
export const roomForAnswer = (c: Context, units: number): Promise<void> => holdOf(c).answer(units)

/** Resolves when long work on the request's body may start; at once unless the body is large. */
export const queueWork = (c: Context): Promise<void> => holdOf(c).queueWork()

const invalidBody = (message: string): HttpError => new HttpError("invalid_body", message)

const cutShort = (): never => {
  throw invalidBody("The body ended before it was complete.")
}

/** Bodies with a Content-Length up to this many bytes are read at once: a socket gives no more than was declared. */
const READ_AT_ONCE_BYTES = 65_536

/** A body that was received and may be parsed. */
type ReceivedBody = {
  readonly bytes: Uint8Array
  /** Whether work on it is long and is queued. */
  readonly large: boolean
}

const stoodStill = (): HttpError =>
  new HttpError("request_timeout", `Nothing of the body arrived for ${STILL_MS / 1000} s.`, { Connection: "close" })

/** What is read of a body. @throws HttpError 408 when the client sends nothing for too long; never without a socket */
async function whileItMoves<T>(c: Context<{ Bindings: Partial<HttpBindings> }>, reading: Promise<T>): Promise<T> {
  const socket = c.env?.incoming?.socket
  if (socket === undefined) return reading
  let timer: NodeJS.Timeout | undefined
  let over = false
  const still = new Promise<never>((_, reject) => {
    const watch = (): void => {
      const arrived = socket.bytesRead
      const judge = (): void => {
        if (!over && socket.bytesRead === arrived) reject(stoodStill())
        else if (!over) watch()
      }
      // What came while this process did something else for so long is read first.
      timer = setTimeout(() => void setImmediate(judge), STILL_MS)
    }
    watch()
  })
  try {
    return await Promise.race([reading, still])
  } finally {
    over = true
    clearTimeout(timer)
  }
}

async function readBytes(c: Context, maxBytes: number, hold: BodyHold): Promise<Uint8Array> {
  const request = c.req.raw
  const tooLarge = (): HttpError => new HttpError("body_too_large", `The body is larger than ${maxBytes} bytes.`)
  const declared = request.headers.get("content-length")
  if (declared !== null) {
    if (Number(declared) > maxBytes) throw tooLarge()
    if (Number(declared) <= READ_AT_ONCE_BYTES) {
      hold.receive(Number(declared))
      // Without a stream no second Request is built.
      return new Uint8Array(await whileItMoves(c, request.arrayBuffer().catch(cutShort)))
    }
  }
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  const parts: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await whileItMoves(c, reader.read().catch(cutShort))
    if (done) return concatBytes(...parts)
    size += value.length
    if (size > maxBytes) throw tooLarge()
    hold.receive(value.length)
    parts.push(value)
    await hold.queueWork()
  }
}

/** JSON is UTF-8 (RFC 8259 §8.1); a parameter with another charset is a mistake of the client. */
const isJson = (contentType: string | null): boolean =>
  contentType !== null && /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i.test(contentType.trim())

const isPlain = (encoding: string | null): boolean => encoding === null || encoding.trim().toLowerCase() === "identity"

/** A body as it was received, and its object. */
type JsonBody = { readonly bytes: Uint8Array; readonly object: JsonObject }

/** The body as a JSON object. @throws HttpError as `readJsonBody` */
export const readJsonObject = async (c: Context): Promise<JsonObject> => (await readJsonBody(c)).object

/**
 * The bytes of a body with the content type JSON. A large one waits for the memory budget.
 * @throws HttpError 400 for another type and for too many nodes, 413 for size, 503 when the memory budget does not allow it
 */
export async function receiveJson(c: Context, limits: BodyLimits): Promise<ReceivedBody> {
  const { headers } = c.req.raw
  // Required also because a browser sends it to another origin only after a CORS preflight.
  if (!isJson(headers.get("content-type"))) throw invalidBody("Content-Type must be application/json.")
  if (!isPlain(headers.get("content-encoding"))) throw invalidBody("Content-Encoding is not supported.")
  const hold = holdOf(c)
  const bytes = await readBytes(c, limits.maxBytes, hold)
  await hold.queueWork()
  const nodes = countNodes(bytes, limits.maxNodes + 1)
  if (nodes > limits.maxNodes) throw invalidBody(`The body has more than ${limits.maxNodes} values and keys.`)
  return { bytes, large: await hold.admit(bytes.length, nodes) }
}

/**
 * The body as a JSON object, with its bytes. A large one waits for the memory budget and in the queue for long work.
 * @throws HttpError 400 for what is not strict JSON or no object, 413 for size, 503 when the memory budget does not allow it
 */
export async function readJsonBody(c: Context): Promise<JsonBody> {
  const limits = bodyLimits(c)
  const { bytes } = await receiveJson(c, limits)
  await queueWork(c)
  return { bytes, object: parseObject(bytes, limits) }
}

/** The bytes of a body of another type. @throws HttpError 413 for size, 503 when the memory budget does not allow it */
export async function receiveBytes(c: Context, maxBytes: number): Promise<Uint8Array> {
  const bytes = await readBytes(c, maxBytes, holdOf(c))
  await queueWork(c)
  return bytes
}

/**
 * Resolves when a body of another type may be parsed, which becomes so many values at most.
 * @throws HttpError 503 when the memory budget does not allow it
 */
export async function roomForParsing(c: Context, bytes: Uint8Array, values: number): Promise<void> {
  await holdOf(c).admit(bytes.length, values)
}

/**
 * A received body as a JSON object.
 * @param parse throws StrictJsonError for what it refuses
 * @throws HttpError 400 for what is not strict JSON or no object
 */
export function parseObject(bytes: Uint8Array, limits: BodyLimits, parse = parseStrictJson): JsonObject {
  if (bytes.length === 0) throw invalidBody("The body is empty; it must be a JSON object.")
  try {
    const object = parse(bytes, limits)
    if (!isObject(object)) throw invalidBody("The body must be a JSON object.")
    return object
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    throw invalidBody(`The body is not strict JSON: ${error.message}`)
  }
}
