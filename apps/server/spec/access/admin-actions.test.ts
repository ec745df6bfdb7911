/** docs/api.md, "The deployment": every action of an administrator is a sealed event. A new operation needs a row here. */
import type { JsonObject } from "@runseal/canonical"
import { eventsPageSchema, type ListedEvent } from "@runseal/core/wire/admin-answers"
import * as v from "valibot"
import { beforeAll, expect, test } from "vitest"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { numberAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const service = standingService()
let admin: Holder
let key = 0
let run = 0

beforeAll(async () => {
  await service().request("/execute", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request()),
  })
  admin = await mint(service(), ADMIN)
  key = (await mint(service(), CUSTOMER, admin)).id
  run = numberAt((await admin.execute(request())).body, "run_id")
})

const events = async (): Promise<readonly ListedEvent[]> =>
  v.parse(eventsPageSchema, (await admin.get("/admin/audit?limit=500")).body).events

type Act = readonly [operation: string, path: () => string, body: () => JsonObject, action: string | undefined]

const POLICY = {
  policy_id: "other",
  policy_name: "Other",
  required_attested_fields: [],
  rules: [{ id: "all", effect: "allow" }],
}

/** In an order in which each finds what it acts on. Trying a policy or a receiver changes nothing, and leaves no event. */
const ACTS: readonly Act[] = [
  ["POST /admin/keys", () => "/admin/keys", () => ({ name: "made" }), "key.create"],
  ["PATCH /admin/keys/{id}", () => `/admin/keys/${key}`, () => ({ notes: "changed" }), "key.change"],
  ["POST /admin/keys/{id}/rotate", () => `/admin/keys/${key}/rotate`, () => ({}), "key.rotate"],
  ["POST /admin/runs/claim", () => "/admin/runs/claim", () => ({ key_id: key }), "runs.claim"],
  ["DELETE /admin/keys/{id}", () => `/admin/keys/${key}`, () => ({}), "key.revoke"],
  ["POST /admin/runs/{id}/publish", () => `/admin/runs/${run}/publish`, () => ({}), "run.publish"],
  ["POST /admin/runs/{id}/unpublish", () => `/admin/runs/${run}/unpublish`, () => ({}), "run.unpublish"],
  ["POST /admin/policies/dry-run", () => "/admin/policies/dry-run", () => ({ policy: POLICY }), undefined],
  ["POST /admin/policies", () => "/admin/policies", () => ({ policy: POLICY }), "policy.load"],
  ["POST /admin/destinations", () => "/admin/destinations", () => ({ url: "https://siem.invalid/" }), "webhook.create"],
  ["PATCH /admin/destinations/{id}", () => "/admin/destinations/1", () => ({ name: "siem" }), "webhook.change"],
  ["POST /admin/destinations/{id}/rotate", () => "/admin/destinations/1/rotate", () => ({}), "webhook.rotate"],
  ["POST /admin/destinations/{id}/test", () => "/admin/destinations/1/test", () => ({}), undefined],
  ["POST /admin/destinations/{id}/resume", () => "/admin/destinations/1/resume", () => ({ from: 2 }), "webhook.resume"],
  ["DELETE /admin/destinations/{id}", () => "/admin/destinations/1", () => ({}), "webhook.delete"],
]

test.each(ACTS)("%s leaves its event", async (operation, path, body, action) => {
  const before = (await events()).length
  const answer = await admin.send(
    operation.split(" ")[0] ?? "",
    path(),
    operation.startsWith("DELETE") ? undefined : body(),
  )
  expect([200, 201], answer.text).toContain(answer.status)
  const added = (await events()).slice(0, (await events()).length - before)
  expect(added.map(event => event.action)).toEqual(action === undefined ? [] : [action])
})

test("the operations above are all that change something under /admin", async () => {
  const { paths } = v.parse(
    v.object({ paths: v.record(v.string(), v.record(v.string(), v.unknown())) }),
    (await admin.get("/openapi.json")).body,
  )
  const changing = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter(method => ["post", "put", "patch", "delete"].includes(method) && path.startsWith("/admin/"))
      .map(method => `${method.toUpperCase()} ${path}`),
  )
  expect(changing.toSorted()).toEqual(ACTS.map(([operation]) => operation).toSorted())
})

test("an event of a position that was set says which it was and is", async () => {
  const set = (await events()).find(({ action }) => action === "webhook.resume")
  expect(set).toMatchObject({ subject: { kind: "destination", id: "1" }, after: { position: 2 } })
  expect(set?.before?.position).toBeTypeOf("number")
})
