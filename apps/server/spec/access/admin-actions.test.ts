/** docs/api.md, "The deployment": every action of an administrator is a sealed event. A new operation needs a row here. */
import type { JsonObject } from "@runseal/canonical"
import { eventsPageSchema, type ListedEvent } from "@runseal/core/wire/admin-answers"
import * as v from "valibot"
import { beforeAll, expect, test } from "vitest"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { newKey, sendKeyed } from "../harness/keyed.ts"
import { expectRefused, numberAt } from "../harness/read-answer.ts"
import { readTables } from "../harness/read-tables.ts"
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
  ["POST /admin/runs/{id}/share", () => `/admin/runs/${run}/share`, () => ({}), "run.share"],
  ["DELETE /admin/shares/{id}", () => "/admin/shares/1", () => ({}), "run.unshare"],
  ["POST /admin/policies/dry-run", () => "/admin/policies/dry-run", () => ({ policy: POLICY }), undefined],
  ["POST /admin/policies", () => "/admin/policies", () => ({ policy: POLICY }), "policy.load"],
  ["POST /admin/destinations", () => "/admin/destinations", () => ({ url: "https://siem.invalid/" }), "webhook.create"],
  ["PATCH /admin/destinations/{id}", () => "/admin/destinations/1", () => ({ name: "siem" }), "webhook.change"],
  ["POST /admin/destinations/{id}/rotate", () => "/admin/destinations/1/rotate", () => ({}), "webhook.rotate"],
  ["POST /admin/destinations/{id}/test", () => "/admin/destinations/1/test", () => ({}), undefined],
  ["POST /admin/destinations/{id}/resume", () => "/admin/destinations/1/resume", () => ({ from: 2 }), "webhook.resume"],
  ["DELETE /admin/destinations/{id}", () => "/admin/destinations/1", () => ({}), "webhook.delete"],
]

const act = ([operation, path, body]: Act) =>
  admin.send(operation.split(" ")[0] ?? "", path(), operation.startsWith("DELETE") ? undefined : body())

/** What acts change: neither the last use of a key, nor the failures of a delivery. */
const stored = async (): Promise<string> => {
  const { keys, publications, events } = await readTables(service().db)
  const others = await service().db.sql`
    select (select json_agg(run_claim) from run_claim) as claims,
      (select json_agg(json_build_array(url, name, active, secret_salt, position, deleted_at)) from destination) as destinations,
      (select json_agg(policy_version) from policy_version) as policies`
  const state = { keys, publications, events, others }
  return JSON.stringify(state, (name, value) => (name === "last_used_at" ? undefined : value))
}

/** Behind it nothing is sealed. */
const CLOCK_STEP_MS = 10 * 60_000

test.each(ACTS)(
  "%s leaves its event, sealed by its answer; where nothing can be sealed it does nothing",
  async (...row) => {
    const [, , , action] = row
    const before = await events()
    if (action !== undefined) {
      const state = await stored()
      service().clock.advance(-CLOCK_STEP_MS)
      expectRefused(await act(row), 503)
      service().clock.advance(CLOCK_STEP_MS)
      expect(await stored()).toEqual(state)
    }
    const answer = await act(row)
    expect([200, 201], answer.text).toContain(answer.status)
    const added = (await events()).slice(0, (await events()).length - before.length)
    expect(added.map(event => [event.action, event.sealed !== undefined])).toEqual(
      action === undefined ? [] : [[action, true]],
    )
  },
)

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

test("what makes or kills a secret is done once under an idempotency key of its caller and endpoint", async () => {
  const target = await mint(service(), { name: "twice" }, admin)
  const made = await admin.post("/admin/destinations", { url: "https://twice.invalid/" })
  const webhook = numberAt(made.body, "destination", "id")
  const key = newKey()
  for (const [path, body] of [
    ["/admin/keys", { name: "once" }],
    [`/admin/keys/${target.id}/rotate`, {}],
    ["/admin/destinations", { url: "https://once.invalid/" }],
    [`/admin/destinations/${webhook}/rotate`, {}],
  ] as const) {
    expect([200, 201], path).toContain((await sendKeyed(service(), path, key, body, admin.secret)).status)
    const before = (await events()).length
    expectRefused(await sendKeyed(service(), path, key, body, admin.secret), 409, "already_done")
    expect((await events()).length, path).toBe(before)
  }
  const other = await mint(service(), { ...ADMIN, name: "other" }, admin)
  expect((await sendKeyed(service(), "/admin/keys", key, { name: "of another" }, other.secret)).status).toBe(201)
  expectRefused(await sendKeyed(service(), "/admin/keys", '"', { name: "bad" }, admin.secret), 400)
})

/** Sends a request whose body ends once `meanwhile` is done. */
async function slowly(secret: string, path: string, body: JsonObject, meanwhile: () => Promise<unknown>) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const headers = { "Content-Type": "application/json", "X-Service-Key": secret }
  const init: RequestInit & { readonly duplex: "half" } = { method: "POST", headers, body: readable, duplex: "half" }
  const answer = service().request(path, init)
  const writer = writable.getWriter()
  const [first, ...rest] = Buffer.from(JSON.stringify(body))
  await writer.write(Uint8Array.from([first ?? 0]))
  await meanwhile()
  await writer.write(Uint8Array.from(rest))
  await writer.close()
  return answer
}

test.each<[string, JsonObject]>([
  ["/admin/policies", { policy: { ...POLICY, policy_id: "of-a-revoked-key" } }],
  ["/admin/destinations", { url: "https://of-a-revoked-key.invalid/" }],
  ["/admin/keys", { name: "of a revoked key" }],
])("a key that is revoked while its body is on the way does nothing: %s", async (path, body) => {
  const other = await mint(service(), ADMIN, admin)
  const revoke = () => admin.send("DELETE", `/admin/keys/${other.id}`)
  const answer = await slowly(other.secret ?? "", path, body, revoke)
  expect(answer.status).toBe(401)
  expect((await events())[0]).toMatchObject({ action: "key.revoke", subject: { id: `${other.id}` } })
})

test("a key that expires while its body is on the way is not told whose the runs of open mode are", async () => {
  const expires_at = new Date(service().clock.nowMs() + 60_000).toISOString()
  const other = await mint(service(), { ...ADMIN, expires_at }, admin)
  const expire = async () => service().clock.advance(60_000)
  const answer = await slowly(other.secret ?? "", "/admin/runs/claim", { key_id: admin.id }, expire)
  expect(answer.status).toBe(401)
})

test("a key revokes itself", async () => {
  const other = await mint(service(), ADMIN, admin)
  expect((await other.send("DELETE", `/admin/keys/${other.id}`)).status).toBe(200)
  expect((await events())[0]).toMatchObject({ action: "key.revoke", who: { actor: `api-key-${other.id}` } })
})

test("an event of a position that was set says which it was and is", async () => {
  const set = (await events()).find(({ action }) => action === "webhook.resume")
  expect(set).toMatchObject({ subject: { kind: "destination", id: "1" }, after: { position: 2 } })
  expect(set?.before?.position).toBeTypeOf("number")
})
