/** Webhooks: every sealed document becomes an event, delivered in the order of the log, signed as Standard Webhooks says. docs/events.md. */

import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { deliveryNetworks } from "../../src/options/delivery-networks.ts"
import { REQUEST_DEADLINE_MS } from "../../src/outbound/deliveries/receivers.ts"
import { done, openedId } from "../harness/asked-permits.ts"
import { testClock } from "../harness/clock.ts"
import { type EventReceiver, type ReceivedEvent, startReceiver } from "../harness/event-receiver.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { at, expectRefused, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"

const networks = deliveryNetworks(["127.0.0.1"])
const clock = { ...testClock(), nowMs: Date.now }
const service = standingService(() => ({ clock, config: networks === undefined ? {} : { deliveryNetworks: networks } }))
let receiver: EventReceiver
let admin: Holder
let customer: Holder
beforeAll(async () => {
  receiver = await startReceiver()
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), { name: "acme", tier: "production" }, admin)
})
afterAll(() => receiver.close())
beforeEach(() => {
  receiver.answer(204)
  receiver.forget()
})

/** Without the admin events that each test makes. */
const SEALED_FOR_CALLERS = ["run.sealed", "permit.opened", "permit.closed", "permit.ended"]

type Made = { readonly id: number; readonly secret: string }
async function deliverTo(changes: object = {}): Promise<Made> {
  const { status, text, body } = await admin.post("/admin/destinations", {
    url: receiver.url,
    types: SEALED_FOR_CALLERS,
    ...changes,
  })
  expect(status, text).toBe(201)
  return { id: numberAt(body, "destination", "id"), secret: textAt(body, "secret") }
}
const rising = (positions: readonly number[]): readonly number[] => positions.toSorted((a, b) => a - b)
const remove = ({ id }: Made) => admin.send("DELETE", `/admin/destinations/${id}`)
const verified = (secret: string, { text, headers }: ReceivedEvent): unknown =>
  new Webhook(secret).verify(
    text,
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}`])),
  )
async function stateOf({ id }: Made) {
  const { body } = await admin.get("/admin/deliveries")
  return listAt(body, "deliveries").find(one => at(one, "id") === id)
}
const untilPassed = (made: Made) =>
  until("everything is delivered", async () => at((await stateOf(made)) ?? {}, "backlog") === 0)

describe("a webhook", () => {
  test("gets every document of the log in its order, signed, without a declared text", async () => {
    const made = await deliverTo()
    await customer.execute(
      request({ payload: "the secret payload", attested_context: { actor_id: "somebody-private" } }),
    )
    await customer.execute(request({ payload: EICAR }))
    const permit = await openedId(customer)
    await customer.post(`/permits/${permit}/close`, done())
    await untilPassed(made)
    const events = receiver.taken()
    expect(events.map(({ body }) => body.type)).toEqual(["run.sealed", "run.sealed", "permit.opened", "permit.closed"])
    for (const event of events) {
      expect(verified(made.secret, event)).toEqual(event.body)
      expect(event.headers["webhook-id"]).toBe(event.body.id)
      expect(event.text).not.toMatch(/the secret payload|somebody-private/)
    }
    expect(events[1]?.body).toMatchObject({
      data: { outcome: "pepg_deny", key_id: customer.id, tenant_id: `api-key-${customer.id}`, error_stage: "PEPG" },
    })
    expect(textAt(events[1]?.body ?? {}, "data", "rule_id")).toMatch(/^MCD-/)
    expect(events[3]?.body).toMatchObject({ data: { permit_id: permit, act_outcome: "completed" } })
    expect(receiver.positions()).toEqual(receiver.positions().toSorted((a, b) => a - b))
    const run = numberAt(events[0]?.body ?? {}, "data", "run_id")
    const bundle = (await customer.get(`/runs/${run}/artifacts`)).body
    expect(at(bundle, "bundle_hash")).toBe(at(events[0]?.body ?? {}, "data", "bundle_hash"))
    expect(at(bundle, "anchors", "complete_record", "entry", "logIndex")).toBe(`${receiver.positions()[0]}`)
    await remove(made)
  })

  test("that is away gets everything in order once it is back, and who looks sees why nothing came", async () => {
    receiver.answer(503)
    const made = await deliverTo({ name: "away" })
    for (let run = 0; run < 40; run++) await customer.execute(request())
    const failing = await until("the delivery has failed", async () => {
      const state = (await stateOf(made)) ?? {}
      return at(state, "failures") === undefined ? undefined : state
    })
    expect(failing).toMatchObject({ name: "away", last_error: { fault: "refused", status: 503 } })
    expect(numberAt(failing, "backlog")).toBeGreaterThanOrEqual(79)
    receiver.answer(200)
    await untilPassed(made)
    expect(await stateOf(made)).not.toHaveProperty("last_error")
    expect(receiver.positions()).toHaveLength(40)
    expect(receiver.positions()).toEqual([...new Set(receiver.positions())].toSorted((a, b) => a - b))
    expect(receiver.mostAtOnce()).toBe(1)
    await remove(made)
  })

  test("that refuses the events of one tenant gets those of another once, until it is set back to them", async () => {
    const other = await mint(service(), { name: "other", tier: "production" }, admin)
    receiver.judge((_, event) => (at(objectAt(event), "data", "key_id") === customer.id ? 500 : 204))
    const made = await deliverTo()
    await customer.execute(request())
    for (let run = 0; run < 3; run++) await other.execute(request())
    const failing = await until("the delivery has failed three times", async () => {
      const state = (await stateOf(made)) ?? {}
      return Number(at(state, "failures") ?? 0) >= 3 ? state : undefined
    })
    const others = receiver.positions()
    expect(others).toHaveLength(3)
    await admin.post(`/admin/destinations/${made.id}/resume`, { from: numberAt(failing, "position") })
    receiver.answer(204)
    await untilPassed(made)
    expect(receiver.positions().slice(0, 3)).toEqual(others)
    expect(rising([...new Set(receiver.positions())])).toHaveLength(4)
    expect(receiver.positions().length).toBe(7)
    await remove(made)
  })

  test("does not wait for another on the same machine that does not answer", async () => {
    const callers = await Promise.all(
      Array.from({ length: 9 }, (_, i) => mint(service(), { name: `of-nine-${i}`, tier: "production" }, admin)),
    )
    receiver.judge(path => (path === "/silent" ? undefined : 204))
    const silent = await deliverTo({ url: receiver.url.replace("/events", "/silent") })
    const made = await deliverTo()
    await Promise.all(callers.map(caller => caller.execute(request())))
    const since = performance.now()
    await untilPassed(made)
    expect(performance.now() - since).toBeLessThan(REQUEST_DEADLINE_MS / 2)
    await remove(silent)
    await remove(made)
  })

  test("gets only what its filters pass", async () => {
    const made = await deliverTo({ types: ["run.sealed"], outcomes: ["pepg_deny"], key_ids: [admin.id] })
    for (const caller of [customer, admin])
      for (const payload of ["fine", EICAR]) await caller.execute(request({ payload }))
    await untilPassed(made)
    expect(receiver.taken().map(({ body }) => [at(body, "data", "key_id"), at(body, "data", "outcome")])).toEqual([
      [admin.id, "pepg_deny"],
    ])
    await remove(made)
  })

  test("gets a new secret, and the one before signs too until the overlap is over", async () => {
    const made = await deliverTo()
    const rotated = await admin.post(`/admin/destinations/${made.id}/rotate`, { overlap_seconds: 600 })
    const secret = textAt(rotated.body, "secret")
    expect(secret).not.toBe(made.secret)
    const tested = await admin.post(`/admin/destinations/${made.id}/test`, {})
    expect(tested.body).toEqual({ ok: true, id: made.id, delivered: true })
    const [event] = receiver.taken()
    if (event === undefined) throw new Error("there is no test event")
    for (const one of [secret, made.secret]) expect(verified(one, event)).toMatchObject({ type: "test" })
    const again = textAt(
      (await admin.post(`/admin/destinations/${made.id}/rotate`, { overlap_seconds: 0 })).body,
      "secret",
    )
    receiver.forget()
    await admin.post(`/admin/destinations/${made.id}/test`, {})
    const [after] = receiver.taken()
    if (after === undefined) throw new Error("there is no test event")
    expect(verified(again, after)).toMatchObject({ type: "test" })
    expect(() => verified(secret, after)).toThrow()
    const stored = JSON.stringify(await service().db.sql`select * from destination`)
    for (const one of [made.secret, secret, again]) expect(stored).not.toContain(one.slice(6))
    await remove(made)
  })

  test("is set back and gets the same again; while it is not active nothing is sent", async () => {
    const made = await deliverTo({ from: 0 })
    await untilPassed(made)
    const all = receiver.positions()
    expect(all.length).toBeGreaterThan(40)
    receiver.forget()
    await admin.send("PATCH", `/admin/destinations/${made.id}`, { active: false })
    const resumed = await admin.post(`/admin/destinations/${made.id}/resume`, { from: 3 })
    expect(resumed.body).toEqual({ ok: true, id: made.id, position: 3 })
    await customer.execute(request())
    await admin.send("PATCH", `/admin/destinations/${made.id}`, { active: true })
    await untilPassed(made)
    expect(rising(receiver.positions()).slice(0, -1)).toEqual(rising(all).filter(position => position >= 3))
    await remove(made)
    const state = await admin.get("/admin/deliveries")
    expect(listAt(state.body, "deliveries")).toEqual([])
  })

  test("does not follow a redirect", async () => {
    const made = await deliverTo()
    receiver.answer(307, { location: receiver.url })
    const tested = await admin.post(`/admin/destinations/${made.id}/test`, {})
    expect(tested.body).toMatchObject({ delivered: false, error: { fault: "refused", status: 307 } })
    await remove(made)
  })
})

describe("an address is refused", () => {
  test.each([
    ["http to another machine", "http://93.184.216.34/"],
    ["http to a name", "http://hooks.example/"],
    ["a private network", "https://10.1.2.3/"],
    ["cloud metadata", "https://169.254.169.254/latest/"],
    ["cloud metadata in one number", "https://2852039166/"],
    ["this machine by IPv6", "https://[::1]/"],
    ["a mapped address", "https://[::ffff:10.0.0.1]/"],
    ["translated metadata", "https://[64:ff9b::a9fe:a9fe]/"],
    ["a unique local address", "https://[fd00::1]/"],
    ["credentials", "https://user:pass@hooks.example/"],
    ["a fragment", "https://hooks.example/#x"],
    ["another scheme", "file:///etc/passwd"],
    ["no address", "hooks.example"],
  ])("%s", async (_name, url) => {
    const { status, body } = await admin.post("/admin/destinations", { url })
    expect(status).toBe(400)
    expect(textAt(body, "error")).toMatch(/^url must /)
  })
})

test("GET /admin/events gives what webhooks get, from a position on, and nothing to a customer", async () => {
  const made = await deliverTo({ from: 0, types: [] })
  await untilPassed(made)
  const created = receiver
    .taken()
    .find(({ body }) => body.type === "admin.event" && at(body, "data", "action") === "webhook.create")
  expect(created?.body).toMatchObject({ data: { tenant_id: "deployment", actor: `api-key-${admin.id}` } })
  await admin.send("PATCH", `/admin/destinations/${made.id}`, { active: false })
  const lines: string[] = []
  for (let after = ""; ; ) {
    const { text } = await admin.get(`/admin/events?limit=7${after}`)
    const page = text.split("\n").slice(0, -1)
    if (page.length === 0) break
    lines.push(...page)
    after = `&after=${numberAt(JSON.parse(page.at(-1) ?? ""), "position")}`
  }
  const inOrder = receiver
    .taken()
    .toSorted((one, other) => numberAt(one.body, "position") - numberAt(other.body, "position"))
  expect(lines.slice(0, inOrder.length)).toEqual(inOrder.map(({ text }) => text))
  await expectRefused(await customer.get("/admin/events"), 403)
  await remove(made)
})
