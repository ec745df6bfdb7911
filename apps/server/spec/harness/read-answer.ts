/** What the service answered, and reading members of it. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
import { ERROR_CODE_NAMES, ERROR_CODES, type ErrorCode, REQUEST_ID_HEADER } from "@runseal/core/wire/error-codes"
import { expect } from "vitest"

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The JSON of an `application/json` answer; otherwise empty. */
  readonly body: JsonObject
}

/** Reads an answer to its end. Every JSON answer must be strict JSON itself. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  const json = response.headers.get("content-type")?.startsWith("application/json") === true
  const value = json ? parseStrictJson(text, { maxBytes: 16_777_216 }) : {}
  if (!isObject(value)) throw new Error(`not an object: ${text.slice(0, 200)}`)
  return { status: response.status, headers: response.headers, text, body: value }
}

/** The value under a path of keys and indices. */
export function at(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (found, key) => (Array.isArray(found) ? found[Number(key)] : member(found, String(key))),
    value,
  )
}

export function textAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path)
  if (typeof found !== "string") throw new Error(`no text at ${path.join(".")}`)
  return found
}

export function numberAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): number {
  const found = at(value, ...path)
  if (typeof found !== "number") throw new Error(`no number at ${path.join(".")}`)
  return found
}

export function objectAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonObject {
  const found = at(value, ...path)
  if (!isObject(found)) throw new Error(`no object at ${path.join(".")}`)
  return found
}

export function listAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): readonly JsonValue[] {
  const found = at(value, ...path)
  if (!Array.isArray(found)) throw new Error(`no list at ${path.join(".")}`)
  return found
}

/** The keys of an object, sorted. */
export const keysOf = (value: JsonValue | undefined): readonly string[] => Object.keys(objectAt(value)).sort()

/** A text of an answer without the id of its request, which differs from answer to answer. */
export const withoutRequestId = (text: string, { headers }: Pick<Answer, "headers">): string =>
  text.replaceAll(headers.get(REQUEST_ID_HEADER) ?? "", "")

/** The envelope of a refused request: `ok` false, one sentence, a code of the list for its status, and the request id. */
export function expectRefused(answer: Answer, status: number, code?: ErrorCode): string {
  const { body, headers, text } = answer
  expect({ status: answer.status, ok: body.ok, keys: keysOf(body) }, text.slice(0, 300)).toEqual({
    status,
    ok: false,
    keys: ["code", "error", "ok", "request_id"],
  })
  expect(ERROR_CODE_NAMES.filter(name => ERROR_CODES[name].status === status)).toContain(code ?? body.code)
  expect({ code: body.code, request_id: body.request_id }).toEqual({
    code: code ?? body.code,
    request_id: headers.get(REQUEST_ID_HEADER),
  })
  const error = textAt(body, "error")
  expect(error.length, "a sentence says why").toBeGreaterThan(10)
  expect(error, "in the service's own words").not.toMatch(/\bexpected \S+ but received\b|must be \./i)
  return error
}
