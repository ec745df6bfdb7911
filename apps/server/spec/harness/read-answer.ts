/** What the service answered, and reading members of it. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
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

/** The envelope of a refused request: exactly `ok` false and one sentence. */
export function expectRefused(answer: Answer, status: number): string {
  expect({ status: answer.status, ok: answer.body.ok, keys: keysOf(answer.body) }, answer.text.slice(0, 300)).toEqual({
    status,
    ok: false,
    keys: ["error", "ok"],
  })
  const error = textAt(answer.body, "error")
  expect(error.length, "a sentence says why").toBeGreaterThan(10)
  return error
}
