/** Requests under idempotency keys. */
import { randomUUID } from "node:crypto"
import type { JsonValue } from "@runseal/canonical"
import { expect } from "vitest"
import type { RequestTarget } from "./key-holders.ts"
import { type Answer, readAnswer } from "./read-answer.ts"

/** A field that names a key nobody has used. */
export const newKey = (): string => `"${randomUUID()}"`

/** Sends a body under a key, as the holder of a secret or as nobody. A text goes as it is. */
export async function sendKeyed(
  service: RequestTarget,
  path: string,
  key: string,
  body: JsonValue,
  secret?: string,
): Promise<Answer> {
  const caller = secret === undefined ? {} : { "X-Service-Key": secret }
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key, ...caller }
  const text = typeof body === "string" ? body : JSON.stringify(body)
  return readAnswer(await service.request(path, { method: "POST", headers, body: text }))
}

export const isReplay = ({ headers }: Answer): boolean => headers.get("idempotency-replayed") === "true"

/** The same answer again, marked as replayed. */
export function expectReplayed(again: Answer, first: Answer): void {
  expect({ status: again.status, text: again.text }).toEqual({ status: first.status, text: first.text })
  expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"))
  expect(isReplay(again)).toBe(true)
}
