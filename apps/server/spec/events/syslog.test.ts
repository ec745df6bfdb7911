/** Syslog: events as messages of RFC 5424 over TCP and TLS, counted as RFC 6587 and RFC 5425 say. docs/events.md, "Syslog". */

import { once } from "node:events"
import { createServer } from "node:https"
import { parseStrictJson } from "@runseal/canonical"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deliveryNetworks } from "../../src/options/delivery-networks.ts"
import { testClock } from "../harness/clock.ts"
import { ADMIN, type Holder, mint } from "../harness/key-holders.ts"
import { at, expectRefused, listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import {
  hostCertificate,
  opensslIsThere,
  type StreamReceiver,
  startStreamReceiver,
} from "../harness/stream-receiver.ts"
import { standingService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"

const networks = deliveryNetworks(["127.0.0.1"])
const clock = { ...testClock(), nowMs: Date.now }
const service = standingService(() => ({ clock, config: networks === undefined ? {} : { deliveryNetworks: networks } }))
let receiver: StreamReceiver
let admin: Holder
let customer: Holder
beforeAll(async () => {
  receiver = await startStreamReceiver()
  admin = await mint(service(), ADMIN)
  customer = await mint(service(), { name: "acme", tier: "production" }, admin)
})
afterAll(() => receiver.close())

const tcp = ({ port }: StreamReceiver): string => `tcp://127.0.0.1:${port}`
async function deliverTo(changes: object): Promise<number> {
  const wanted = { kind: "syslog", types: ["run.sealed"], ...changes }
  const { status, text, body } = await admin.post("/admin/destinations", wanted)
  expect(status, text).toBe(201)
  expect(body).not.toHaveProperty("secret")
  return numberAt(body, "destination", "id")
}
const remove = (id: number) => admin.send("DELETE", `/admin/destinations/${id}`)
const tested = async (id: number) => (await admin.post(`/admin/destinations/${id}/test`, {})).body
async function stateOf(id: number) {
  const { body } = await admin.get("/admin/deliveries")
  return listAt(body, "deliveries").find(one => at(one, "id") === id)
}
const untilPassed = (id: number) =>
  until("everything is delivered", async () => at((await stateOf(id)) ?? {}, "backlog") === 0)
const untilFailing = (id: number) =>
  until("the delivery has failed", async () => {
    const state = (await stateOf(id)) ?? {}
    return at(state, "failures") === undefined ? undefined : state
  })
/** A changed destination is tried at once. */
const tryNow = (id: number) => admin.send("PATCH", `/admin/destinations/${id}`, { active: true })
const runs = async (count: number): Promise<void> => {
  for (let run = 0; run < count; run++) await customer.execute(request())
}
const rising = (positions: readonly number[]): readonly number[] => [...new Set(positions)].sort((a, b) => a - b)

describe("over TCP", () => {
  test("a receiver gets one message for each event, in the order of the log", async () => {
    receiver.forget()
    const id = await deliverTo({ url: tcp(receiver) })
    await runs(3)
    await customer.execute(request({ payload: EICAR, route_id: 'wíre\n\t"out"' }))
    await untilPassed(id)
    const messages = receiver.taken()
    expect(messages).toHaveLength(4)
    expect(receiver.positions()).toEqual(rising(receiver.positions()))
    for (const message of messages) expect(message).toMatch(/^<10[0-9]|<110>/)
    const [head = "", ...rest] = (messages[3] ?? "").split(" - {")
    expect(head).toMatch(/^<108>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S+ runseal - run\.sealed$/)
    const event = parseStrictJson(`{${rest.join(" - {")}`)
    expect(at(event, "data", "route_id")).toBe('wíre\n\t"out"')
    expect(at(event, "data", "outcome")).toBe("pepg_deny")
    // A program of lines gets no line, and no byte that is not ASCII.
    expect(messages.join("")).toMatch(/^[ -~]*$/)
    await remove(id)
  })

  test("a receiver that is away, breaks connections or ends them at once gets everything in order once it takes them", async () => {
    const mine = await startStreamReceiver()
    const id = await deliverTo({ url: tcp(mine) })
    mine.treat("break")
    await runs(40)
    const broken = await untilFailing(id)
    expect(at(broken, "last_error", "fault")).toMatch(/refused|unreachable/)
    mine.treat("end")
    await tryNow(id)
    await until(
      "an early end counts as a refusal",
      async () => at(await stateOf(id), "last_error", "fault") === "refused",
    )
    await mine.close()
    await tryNow(id)
    await until("it is away", async () => at(await stateOf(id), "last_error", "fault") === "unreachable")
    expect(mine.taken()).toEqual([])
    const back = await startStreamReceiver(undefined, mine.port)
    await tryNow(id)
    await untilPassed(id)
    expect(back.positions()).toHaveLength(40)
    expect(back.positions()).toEqual(rising(back.positions()))
    expect(await stateOf(id)).not.toHaveProperty("last_error")
    await remove(id)
    await back.close()
  })

  test.each([
    ["cef", / - CEF:0\|Runseal\|Runseal\|1\.0\.0\|run\.sealed\|/],
    ["ocsf", / - \{"category_uid":6,/],
  ])("the format %s is sent as the text of the message", async (format, wanted) => {
    receiver.forget()
    const id = await deliverTo({ url: tcp(receiver), format })
    await runs(1)
    await untilPassed(id)
    expect(receiver.taken()[0]).toMatch(wanted)
    receiver.forget()
    expect(await tested(id)).toEqual({ ok: true, id, delivered: true })
    expect(receiver.taken()).toHaveLength(1)
    expect(receiver.taken()[0]).toContain("test")
    await remove(id)
  })

  test("it has no secret to rotate, and starts again from a position", async () => {
    receiver.forget()
    const id = await deliverTo({ url: tcp(receiver) })
    await expectRefused(await admin.post(`/admin/destinations/${id}/rotate`, {}), 404)
    await runs(2)
    await untilPassed(id)
    const last = receiver.positions().at(-1) ?? 0
    receiver.forget()
    await admin.post(`/admin/destinations/${id}/resume`, { from: last })
    await untilPassed(id)
    expect(receiver.positions()).toEqual([last])
    await remove(id)
  })
})

describe.skipIf(!opensslIsThere)(`over TLS${opensslIsThere ? "" : " (openssl not found)"}`, () => {
  test("the receiver's certificate is verified by the authorities that are given", async () => {
    const certificate = hostCertificate()
    const mine = await startStreamReceiver(certificate)
    const url = `tls://localhost:${mine.port}`
    const id = await deliverTo({ url, ca: certificate.cert })
    await runs(2)
    await untilPassed(id)
    expect(mine.positions()).toHaveLength(2)
    await admin.send("PATCH", `/admin/destinations/${id}`, { ca: "" })
    expect(await tested(id)).toMatchObject({ delivered: false, error: { fault: "tls_failed" } })
    await admin.send("PATCH", `/admin/destinations/${id}`, { ca: hostCertificate().cert })
    expect(await tested(id)).toMatchObject({ delivered: false, error: { fault: "tls_failed" } })
    await admin.send("PATCH", `/admin/destinations/${id}`, { ca: certificate.cert })
    expect(await tested(id)).toMatchObject({ delivered: true })
    await remove(id)
    await mine.close()
  })

  test("a certificate of another name is refused", async () => {
    const certificate = hostCertificate("DNS:siem.example")
    const mine = await startStreamReceiver(certificate)
    const id = await deliverTo({ url: `tls://127.0.0.1:${mine.port}`, ca: certificate.cert })
    expect(await tested(id)).toMatchObject({ delivered: false, error: { fault: "tls_failed" } })
    expect(mine.taken()).toEqual([])
    await remove(id)
    await mine.close()
  })

  test("a webhook is verified by the authorities that are given, too", async () => {
    const certificate = hostCertificate()
    const server = createServer(certificate, (asked, answer) => {
      asked.resume()
      answer.writeHead(204).end()
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = address === null || typeof address === "string" ? 0 : address.port
    const { body } = await admin.post("/admin/destinations", {
      url: `https://localhost:${port}/`,
      ca: certificate.cert,
    })
    const id = numberAt(body, "destination", "id")
    expect(textAt(body, "destination", "ca")).toBe(certificate.cert)
    expect(await tested(id)).toMatchObject({ delivered: true })
    await admin.send("PATCH", `/admin/destinations/${id}`, { ca: "" })
    expect(await tested(id)).toMatchObject({ delivered: false, error: { fault: "tls_failed" } })
    await remove(id)
    server.closeAllConnections()
    server.close()
  })

  test("ca is certificates, and nothing else", async () => {
    const { cert, key } = hostCertificate()
    for (const ca of [key, `${cert}${key}`, "x", cert.replace("MII", "AII"), `${cert}# a comment`]) {
      const answer = await admin.post("/admin/destinations", { kind: "syslog", url: "tls://siem.example:6514", ca })
      expectRefused(answer, 400)
    }
  })
})

describe("an address is refused", () => {
  test.each([
    ["without a port", "tls://siem.example"],
    ["with a path", "tls://siem.example:6514/x"],
    ["with a query", "tls://siem.example:6514?x"],
    ["of a webhook", "https://siem.example:6514"],
    ["with credentials", "tls://user:pass@siem.example:6514"],
    ["without TLS, to a public address", "tcp://93.184.216.34:601"],
    ["without TLS, to a network that is not named", "tcp://10.1.2.3:601"],
    ["of a private network", "tls://10.1.2.3:6514"],
    ["of cloud metadata", "tls://169.254.169.254:80"],
    ["of this machine by IPv6", "tls://[::1]:6514"],
    ["of a mapped address", "tls://[::ffff:10.0.0.1]:6514"],
  ])("%s", async (_name, url) => {
    const { status, body } = await admin.post("/admin/destinations", { kind: "syslog", url })
    expect(status).toBe(400)
    expect(textAt(body, "error")).toMatch(/^url must /)
  })

  test.each(["tls://2852039166:6514", "tls://0x7f.1:6514", "tcp://localhost.localdomain:601"])(
    "when it is connected to: %s",
    async url => {
      const id = await deliverTo({ url })
      const error = at(await tested(id), "error", "fault")
      expect(["address_refused", "unreachable"]).toContain(error)
      await remove(id)
    },
  )
})

test("GET /admin/events gives the same forms", async () => {
  const { text } = await admin.get("/admin/events?limit=2&format=cef")
  expect(text.split("\n").filter(line => line.startsWith("CEF:0|Runseal|"))).toHaveLength(2)
  const ocsf = await admin.get("/admin/events?limit=2&format=ocsf")
  expect(
    ocsf.text
      .split("\n")
      .slice(0, -1)
      .map(line => at(parseStrictJson(line), "class_uid")),
  ).toEqual([6003, 6003])
})
