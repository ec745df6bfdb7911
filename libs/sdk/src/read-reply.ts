/** Parses an answer: strict JSON of a known shape. Anything else is a ProtocolError. */
import { type JsonObject, type JsonValue, parseStrictJson, StrictJsonError, utf8Decode } from "@runseal/canonical"
import { issueText } from "@runseal/core/artifacts/schema-issue"
import { isPdf } from "@runseal/core/report-pdf/is-pdf"
import { isObject, textMember } from "@runseal/core/vocabulary/json-members"
import * as v from "valibot"
import { type HttpStatusError, ProtocolError, statusError } from "./client-errors.ts"
import type { Reply } from "./exchange.ts"

/** A sealed document with the exact text of the answer: saved as UTF-8, that text can be verified offline. */
export type Received<T> = { readonly document: T; readonly text: string }

/** UTF-16 units of the service's sentence, and of its other texts, that an error repeats. */
const TEXT_MAX_LENGTH = 1000
/** Control characters, which could steer a terminal or forge a line of a log. */
const CONTROLS = /\p{Cc}+/gu

/** The status of a call that succeeded, of one that created something, and of one that people have to decide on. */
export type DoneStatus = 200 | 201 | 202

/** The text of a reply with that status. @throws HttpStatusError, ProtocolError */
export function okText(reply: Reply, status: DoneStatus = 200): string {
  if (reply.status !== status) throw refusal(reply)
  return textOf(reply)
}

/** The JSON object of a reply with that status. @throws HttpStatusError, ProtocolError */
export function okObject(reply: Reply, status?: DoneStatus): Received<JsonObject> {
  const text = okText(reply, status)
  return { document: parseObject(text), text }
}

/** The bytes of a PDF. @throws HttpStatusError, ProtocolError */
export function okPdf(reply: Reply): Uint8Array {
  if (reply.status !== 200) throw refusal(reply)
  if (!isPdf(reply.bytes)) throw new ProtocolError("it is no PDF")
  return reply.bytes
}

/** The first bytes of a ZIP. */
const ZIP = [0x50, 0x4b, 0x03, 0x04]

/** The bytes of a ZIP. @throws HttpStatusError, ProtocolError */
export function okZip(reply: Reply): Uint8Array {
  if (reply.status !== 200) throw refusal(reply)
  if (ZIP.some((byte, at) => reply.bytes[at] !== byte)) throw new ProtocolError("it is no ZIP")
  return reply.bytes
}

/** The answer of a reply with that status. @throws HttpStatusError, ProtocolError */
export const okAnswer = <T>(schema: v.GenericSchema<unknown, T>, reply: Reply, status?: DoneStatus): T =>
  checkShape(schema, okObject(reply, status).document)

/**
 * What the schema makes of a value. Members it does not name are left out: a service may say more than this release knows.
 * @throws ProtocolError
 */
export function checkShape<T>(schema: v.GenericSchema<unknown, T>, value: JsonValue): T {
  const parsed = v.safeParse(schema, value)
  if (!parsed.success) throw new ProtocolError(issueText(parsed.issues[0]))
  return parsed.output
}

/** The error of any other status, with the service's sentence, code and request id as far as the answer has them. */
export function refusal(reply: Reply): HttpStatusError {
  const answer = objectOrNothing(reply)
  const text = (name: string): string | undefined => printable(textMember(answer, name))
  return statusError(reply.status, text("error") ?? `The service answered with status ${reply.status}.`, {
    retryAfterSeconds: reply.retryAfterSeconds,
    code: text("code"),
    requestId: text("request_id") ?? printable(reply.requestId),
  })
}

const printable = (text: string | undefined): string | undefined =>
  text?.slice(0, TEXT_MAX_LENGTH).replace(CONTROLS, " ")

/** The JSON object of a reply; undefined for anything else, such as a proxy's HTML page. */
export function objectOrNothing(reply: Reply): JsonObject | undefined {
  try {
    return parseObject(textOf(reply))
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

function textOf({ bytes }: Reply): string {
  const text = utf8Decode(bytes)
  if (text === undefined) throw new ProtocolError("it is not UTF-8")
  return text
}

/** @throws ProtocolError for what is no JSON object */
export function parseObject(text: string): JsonObject {
  const value = parseJson(text)
  if (!isObject(value)) throw new ProtocolError("it is no JSON object")
  return value
}

function parseJson(text: string): JsonValue {
  try {
    return parseStrictJson(text)
  } catch (error) {
    if (error instanceof StrictJsonError) throw new ProtocolError(`it is not strict JSON, ${error.code}`)
    throw error
  }
}
