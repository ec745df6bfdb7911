/** Callers with keys: made over HTTP, as administrators make them. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { expect } from "vitest"
import { type Answer, numberAt, readAnswer, textAt } from "./answer.ts"
import type { TestService } from "./service.ts"

export type Caller = {
  readonly id: number
  readonly secret: string
  readonly get: (path: string, service?: TestService) => Promise<Answer>
  readonly post: (path: string, body: JsonValue, service?: TestService) => Promise<Answer>
}

/** Who holds a key; asks the service that made it, unless told another. */
function holder(made: TestService, id: number, secret: string): Caller {
  const key = { "X-Service-Key": secret }
  return {
    id,
    secret,
    get: async (path, service = made) => readAnswer(await service.request(path, { headers: key })),
    post: async (path, body, service = made) => {
      const headers = { ...key, "Content-Type": "application/json" }
      return readAnswer(await service.request(path, { method: "POST", headers, body: JSON.stringify(body) }))
    },
  }
}

const heldBy = (service: TestService, { status, body, text }: Answer): Caller => {
  expect(status, text).toBe(201)
  return holder(service, numberAt(body, "id"), textAt(body, "secret"))
}

/** The first key of a deployment, made in open mode. */
export const firstAdmin = async (service: TestService): Promise<Caller> =>
  heldBy(service, await service.post("/admin/keys", { name: "admin", scope: "admin", confirm_admin_scope: true }))

export const newKey = async (service: TestService, admin: Caller, request: JsonObject): Promise<Caller> =>
  heldBy(service, await admin.post("/admin/keys", { name: "caller", ...request }, service))
