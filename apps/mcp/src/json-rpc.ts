/**
 * JSON-RPC 2.0 messages as the gateway reads them. A message of the agent is read strictly, since a server must not read another call in it
 * than the one that was permitted: RFC 7493 without duplicate members, and no member whose name differs from a known one in case alone.
 */
import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError } from "@runseal/canonical"

/** Largest message in either direction, in bytes. */
export const MESSAGE_MAX_BYTES = 33_554_432

export type Id = string | number

/** JSON-RPC 2.0, section 5.1. */
export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603

const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params", "result", "error"])

export type Refused = { readonly message?: undefined; readonly refused: JsonObject }

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

export function idOf(message: JsonObject): Id | undefined {
  const { id } = message
  return typeof id === "string" || typeof id === "number" ? id : undefined
}

export const isResponse = (message: JsonObject): boolean => !("method" in message) && idOf(message) !== undefined

/** A key for an id: the id 1 is not the id "1". */
export const idKey = (id: Id): string => JSON.stringify(id)

export const errorResponse = (id: Id | null, code: number, message: string): JsonObject => ({
  jsonrpc: "2.0",
  id,
  error: { code, message: `Runseal: ${message}` },
})

/** A message of the agent, or the error that answers it. */
export type AgentMessage = { readonly message: JsonObject; readonly refused?: undefined } | Refused

export function readAgentMessage(text: string): AgentMessage {
  let value: JsonValue
  try {
    value = parseStrictJson(text, { acceptsNegativeZero: true, maxBytes: MESSAGE_MAX_BYTES })
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    return { refused: errorResponse(null, PARSE_ERROR, "the message is not strict I-JSON (RFC 7493)") }
  }
  if (Array.isArray(value)) return { refused: errorResponse(null, INVALID_REQUEST, "batches are not forwarded") }
  if (!isObject(value)) return { refused: errorResponse(null, INVALID_REQUEST, "a message is an object") }
  const id = idOf(value) ?? null
  if (Object.keys(value).some(name => !MEMBERS.has(name)))
    return { refused: errorResponse(id, INVALID_REQUEST, "a message has no members besides those of JSON-RPC") }
  return { message: value }
}

/** The messages of a server's text: several for a batch, none for what is no JSON-RPC. */
export function readServerMessages(text: string): readonly JsonObject[] {
  let value: JsonValue
  try {
    value = JSON.parse(text)
  } catch {
    return []
  }
  return (Array.isArray(value) ? value : [value]).filter(isObject)
}

/** Whether a server's text is I-JSON, which a program in any language reads alike. */
export function isStrict(text: string): boolean {
  try {
    parseStrictJson(text, { acceptsNegativeZero: true, maxBytes: MESSAGE_MAX_BYTES })
    return true
  } catch (error) {
    if (error instanceof StrictJsonError) return false
    throw error
  }
}
