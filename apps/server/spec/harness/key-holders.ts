/** A service as the holder of a key sees it. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { expect } from "vitest"
import { type Answer, numberAt, readAnswer, textAt } from "./read-answer.ts"
import type { TestService } from "./test-service.ts"

/** What asks a service; a child process can be one as well. */
export type RequestTarget = Pick<TestService, "request">

export type Holder = {
  readonly id: number
  readonly name: string
  /** Absent for the anonymous caller. */
  readonly secret?: string
  readonly send: (method: string, path: string, body?: JsonValue) => Promise<Answer>
  readonly get: (path: string) => Promise<Answer>
  readonly post: (path: string, body?: JsonValue) => Promise<Answer>
  readonly execute: (body: JsonValue) => Promise<Answer>
}

/** A caller that sends this header; absent: it sends none. */
export function caller(service: RequestTarget, secret?: string): Holder {
  const send: Holder["send"] = async (method, path, body) => {
    const type = body === undefined ? {} : { "Content-Type": "application/json" }
    const key = secret === undefined ? {} : { "X-Service-Key": secret }
    const payload = body === undefined ? {} : { body: JSON.stringify(body) }
    return readAnswer(await service.request(path, { method, headers: { ...type, ...key }, ...payload }))
  }
  return {
    id: 0,
    name: "anonymous",
    ...(secret === undefined ? {} : { secret }),
    send,
    get: path => send("GET", path),
    post: (path, body) => send("POST", path, body),
    execute: body => send("POST", "/execute", body),
  }
}

export const ADMIN: JsonObject = { name: "ops", scope: "admin", confirm_admin_scope: true }
export const CUSTOMER: JsonObject = { name: "acme" }

/** The holder of the key that an answer of `POST /admin/keys` made. */
export function holderOf(service: RequestTarget, answer: Answer): Holder {
  expect(answer.status, answer.text).toBe(201)
  const { body } = answer
  return { ...caller(service, textAt(body, "secret")), id: numberAt(body, "id"), name: textAt(body, "name") }
}

/** Makes a key. Without a minter it is the first one. */
export const mint = async (
  service: RequestTarget,
  body: JsonObject,
  minter: Holder = caller(service),
): Promise<Holder> => holderOf(service, await minter.post("/admin/keys", body))

/** The same key at another service of the same database. */
export const heldAt = (service: RequestTarget, { id, name, secret }: Holder): Holder => ({
  ...caller(service, secret),
  id,
  name,
})
