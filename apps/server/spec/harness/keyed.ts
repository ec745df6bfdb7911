/** Requests under idempotency keys. */
import { randomUUID } from "node:crypto"
import type { JsonValue } from "@runseal/canonical"
import { expect } from "vitest"
import type { RequestTarget } from "./key-holders.ts"
import { type Answer, readAnswer } from "./read-answer.ts"
import { until } from "./until.ts"

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

/** Sends a body under a key until there is an answer, as a client does: on a slow machine a request of many may wait longer than it can. */
export const insist = (service: RequestTarget, path: string, body: JsonValue, key = newKey()): Promise<Answer> =>
  until(`the request under ${key} is answered`, async () => {
    const answer = await sendKeyed(service, path, key, body)
    if (answer.status !== 409 && answer.status !== 503) return answer
    expect(answer.headers.get("retry-after"), "it is worth while to come again").toMatch(/^[1-9]\d*$/)
    return undefined
  })

export const isReplay = ({ headers }: Answer): boolean => headers.get("idempotency-replayed") === "true"

/** The same answer again, marked as replayed. */
export function expectReplayed(again: Answer, first: Answer): void {
  expect({ status: again.status, text: again.text }).toEqual({ status: first.status, text: first.text })
  expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"))
  expect(isReplay(again)).toBe(true)
}
