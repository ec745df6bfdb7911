/** Requests about permits, as callers and those who act send them. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { expect } from "vitest"
import { type Answer, textAt } from "./read-answer.ts"
import { request } from "./sample-requests.ts"

export const AUDIENCE = "payments.example"

/** The least that a permit is asked with, and whatever a test adds or changes. */
export const asking = (changes: JsonObject = {}): JsonObject =>
  request({ reserve_tokens: 100, audience: AUDIENCE, ...changes })

/** A close of an act that was done. */
export const done = (changes: JsonObject = {}): JsonObject => ({ outcome: "completed", ...changes })
/** The same with tokens. */
export const costing = (total_tokens: number): JsonObject => done({ request_substance: { cost: { total_tokens } } })

/** Who sends. */
export type Sender = {
  readonly get: (path: string) => Promise<Answer>
  readonly post: (path: string, body: JsonValue) => Promise<Answer>
}

/** Opens a permit. */
export async function opened(sender: Sender, changes: JsonObject = {}): Promise<Answer> {
  const answer = await sender.post("/permits", asking(changes))
  expect(answer.status, answer.text).toBe(201)
  return answer
}

export const openedId = async (sender: Sender, changes: JsonObject = {}): Promise<string> =>
  textAt((await opened(sender, changes)).body, "permit_id")

/** Closes a permit with 200. */
export async function closed(sender: Sender, id: string, body: JsonObject = done()): Promise<Answer> {
  const answer = await sender.post(`/permits/${id}/close`, body)
  expect(answer.status, answer.text).toBe(200)
  return answer
}

export const permitAt = async (sender: Sender, id: string): Promise<JsonObject> => {
  const answer = await sender.get(`/permits/${id}`)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}
