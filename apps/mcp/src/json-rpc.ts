/**
 * JSON-RPC 2.0 messages as the gateway reads them. Both sides are untrusted: neither may get a message in which it reads another call or another
 * answer than the gateway does. So members have exactly the names of JSON-RPC, a message is one of request, notification, result or
 * error, and a message of the agent is I-JSON (RFC 7493), in which no member is there twice.
 */
import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"

/** Largest message in either direction, in bytes. */
export const MESSAGE_MAX_BYTES = 33_554_432

export type Id = string | number

/** JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603

/** Methods that the gateway reads. */
const READ_METHODS = ["initialize", "server/discover", "tools/list", "tools/call", "notifications/cancelled"]

/** One spelling of all names that a server may take for one another: those that differ in case (as U+017F and `s` do), width, blanks or signs. */
export const plainName = (name: string): string =>
  name
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "")
const PLAIN_METHODS: ReadonlySet<string> = new Set(READ_METHODS.map(plainName))

const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params", "result", "error"])
const KINDS = ["method", "result", "error"]

/** The error that answers a message which is not forwarded. */
export type Refused = { readonly refused: JsonObject }

export const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A member that is an object; an empty one otherwise. */
export function objectAt(value: JsonValue | undefined, name: string): JsonObject {
  const member = isObject(value) ? value[name] : undefined
  return isObject(member) ? member : {}
}

export function textAt(value: JsonValue | undefined, name: string): string | undefined {
  const member = isObject(value) ? value[name] : undefined
  return typeof member === "string" ? member : undefined
}

/** A key for an id, since the id 1 is not the id "1"; undefined for what is no id. */
export const keyOf = (id: JsonValue | undefined): string | undefined =>
  typeof id === "string" || typeof id === "number" ? JSON.stringify(id) : undefined

export const errorResponse = (id: JsonValue | undefined, code: number, message: string): JsonObject => ({
  jsonrpc: "2.0",
  id: id ?? null,
  error: { code, message: `Runseal: ${message}` },
})

/** The value of a text that programs in every language read alike; undefined for every other. */
function readStrict(text: string): JsonValue | undefined {
  try {
    return parseStrictJson(text, { acceptsNegativeZero: true, maxBytes: MESSAGE_MAX_BYTES })
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

const isMessage = (message: JsonObject): boolean =>
  Object.keys(message).every(name => MEMBERS.has(name)) &&
  KINDS.filter(name => name in message).length === 1 &&
  (message.method === undefined || typeof message.method === "string")

export function readAgentMessage(text: string): { readonly message: JsonObject } | Refused {
  const value = readStrict(text)
  if (value === undefined) return { refused: errorResponse(null, PARSE_ERROR, "the message is not I-JSON (RFC 7493)") }
  if (!isObject(value)) return { refused: errorResponse(null, INVALID_REQUEST, "a message is one object, not a batch") }
  const { method } = value
  // A server that is less strict would read another method than the gateway.
  if (typeof method === "string" && !READ_METHODS.includes(method) && PLAIN_METHODS.has(plainName(method)))
    return { refused: errorResponse(value.id, METHOD_NOT_FOUND, "the method is not written as MCP writes it") }
  if (isMessage(value)) return { message: value }
  return { refused: errorResponse(value.id, INVALID_REQUEST, "the message is not one of JSON-RPC 2.0") }
}

export type ServerMessage = { readonly message: JsonObject; readonly isStrict: boolean; readonly text: string }

/** The messages of a server's text: several for a batch, none for what is no JSON-RPC. What is not I-JSON is written again, so that it has one meaning. */
export function readServerMessages(text: string): readonly ServerMessage[] {
  const strict = readStrict(text)
  let value = strict
  try {
    value ??= JSON.parse(text)
  } catch {
    return []
  }
  const isStrict = strict !== undefined
  const messages = (Array.isArray(value) ? value : [value]).filter(isObject).filter(isMessage)
  return messages.map(message => ({
    message,
    isStrict,
    text: isStrict && message === value ? text : JSON.stringify(message),
  }))
}
