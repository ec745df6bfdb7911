/** Calls that make something, under idempotency keys. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { quickWaits } from "../test/quick-waits.ts"
import { API_KEY, type Fault, type Service, startService } from "../test/scripted-service.ts"
import {
  type ActionOptions,
  BadRequestError,
  type Client,
  ConflictError,
  createClient,
  InvalidArgumentError,
  type OnceOptions,
  UnavailableError,
} from "./index.ts"

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())
beforeEach(() => {
  service.asked.splice(0)
  service.faults.splice(0)
})

const clientOf = (newIdempotencyKey?: () => string): Client =>
  createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, newIdempotencyKey, ...quickWaits() })

const ids = { program_id: "a".repeat(64), registry_record_hash: "b".repeat(64) }
const CALLS: readonly (readonly [string, (client: Client, options?: OnceOptions) => Promise<unknown>])[] = [
  ["execute", (client, options) => client.execute({ ...ids, route_id: "claims", payload: "ok" }, options)],
  ["attest", (client, options) => client.attest({ digest: "5e".repeat(32) }, options)],
]

/** Actions, which are done once under a key and whose answer is not repeated. */
const ACTS: readonly (readonly [string, (client: Client, options?: ActionOptions) => Promise<unknown>])[] = [
  ["createKey", (client, options) => client.createKey({ name: "erp" }, options)],
  ["revokeKey", (client, options) => client.revokeKey(1, options)],
]

const refuses =
  (status: number, headers: Readonly<Record<string, string>> = {}): Fault =>
  response =>
    response.writeHead(status, headers).end('{"ok":false,"error":"Not now."}')
const says =
  (status: number, body: object): Fault =>
  response =>
    response.writeHead(status).end(JSON.stringify(body))
const cutsOff: Fault = response => {
  response.writeHead(200, { "content-length": "1000" }).write('{"ok":true')
  setImmediate(() => response.destroy())
}

const fields = (): unknown[] => service.asked.map(({ headers }) => headers["idempotency-key"])

describe.each(CALLS)("%s", (_, call) => {
  test("without a key sends none", async () => {
    await call(clientOf())
    expect(fields()).toEqual([undefined])
  })

  test("under a key is repeated with the same key and body until it is answered", async () => {
    service.faults.push(cutsOff, response => response.destroy(), refuses(503, { "retry-after": "1" }))
    await call(clientOf(), { idempotencyKey: "order 4711" })
    expect(fields()).toEqual(Array(4).fill('"order 4711"'))
    expect(new Set(service.asked.map(({ body }) => body)).size).toBe(1)
  })

  test("waits for the first call under its key that is still under way", async () => {
    service.faults.push(refuses(409, { "retry-after": "1" }))
    await call(clientOf(), { idempotencyKey: "k" })
    expect(service.asked).toHaveLength(2)
  })

  test("with a key that was used for something else is refused once and for all", async () => {
    service.faults.push(refuses(409))
    await expect(call(clientOf(), { idempotencyKey: "k" })).rejects.toThrow(ConflictError)
    expect(service.asked).toHaveLength(1)
  })

  test("that is not answered in the end may be called again with its key", async () => {
    service.faults.push(...Array(4).fill(refuses(503)))
    const once = { idempotencyKey: "k" }
    await expect(call(clientOf(), once)).rejects.toThrow(UnavailableError)
    await call(clientOf(), once)
    expect(fields()).toEqual(Array(5).fill('"k"'))
  })

  test("takes its key from the client when it is given none: one for all repeats, another for the next call", async () => {
    let made = 0
    const client = clientOf(() => `key-${++made}`)
    service.faults.push(refuses(503))
    await call(client)
    await call(client)
    await call(client, { idempotencyKey: "mine" })
    expect(fields()).toEqual(['"key-1"', '"key-1"', '"key-2"', '"mine"'])
  })

  test.each(["", "a\nb", "\u00e4", "k".repeat(256)])("refuses the key %j before anything is sent", async key => {
    await expect(call(clientOf(), { idempotencyKey: key })).rejects.toThrow(InvalidArgumentError)
    await expect(call(clientOf(() => key))).rejects.toThrow(InvalidArgumentError)
    expect(service.asked).toEqual([])
  })

  test("sends quotes and backslashes as a String of RFC 8941 has them", async () => {
    await call(clientOf(), { idempotencyKey: '"\\' })
    expect(fields()).toEqual(['"\\"\\\\"'])
  })

  test("is not repeated after a refusal that a repeat would meet again", async () => {
    service.faults.push(refuses(400))
    await expect(call(clientOf(), { idempotencyKey: "k" })).rejects.toThrow(BadRequestError)
    expect(service.asked).toHaveLength(1)
  })
})

describe.each(ACTS)("%s", (_, call) => {
  test("under a key is repeated with that key, until it is known to be done", async () => {
    service.faults.push(cutsOff, refuses(408), says(409, { ok: false, error: "Done.", code: "already_done" }))
    await expect(call(clientOf(), { idempotencyKey: "rotate 7" })).rejects.toMatchObject({
      name: "ConflictError",
      code: "already_done",
    })
    expect(fields()).toEqual(Array(3).fill('"rotate 7"'))
  })

  test("takes no key that the client makes for what is answered again", async () => {
    await call(clientOf(() => "made"))
    expect(fields()).toEqual([undefined])
  })

  test.each(["", "a\nb", "k".repeat(256)])("refuses the key %j before anything is sent", async key => {
    await expect(call(clientOf(), { idempotencyKey: key })).rejects.toThrow(InvalidArgumentError)
    expect(service.asked).toEqual([])
  })
})
