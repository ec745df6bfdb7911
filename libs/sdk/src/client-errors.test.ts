/** What an error tells of its call, and nothing that is secret. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import { type Client, createClient } from "./index.ts"

const TOKEN = "0123456789abcdef0123456789abcdef"

let service: Service
let client: Client
beforeAll(async () => {
  service = await startService()
  client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, retries: 0 })
})
afterAll(() => service.stop())
beforeEach(() => void service.faults.splice(0))

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

const REFUSAL = { ok: false, error: "There is no such run.", code: "run_not_found", request_id: "req-17" }

test("a refusal has method, address, status, code and request id", async () => {
  service.faults.push(response => response.writeHead(404).end(JSON.stringify(REFUSAL)))
  expect(await errorOf(client.run(12))).toMatchObject({
    name: "NotFoundError",
    message: "There is no such run.",
    method: "GET",
    url: `${service.baseUrl}/runs/12`,
    status: 404,
    code: "run_not_found",
    requestId: "req-17",
  })
})

test("the request id of a header counts where the body has none, and an older service has neither", async () => {
  service.faults.push(response => response.writeHead(503, { "x-request-id": "req-18" }).end("<html>"))
  expect(await errorOf(client.run(1))).toMatchObject({ status: 503, code: undefined, requestId: "req-18" })
  expect(await errorOf(client.run(99))).toMatchObject({ status: 404, code: undefined, requestId: undefined })
})

test("texts of an answer cannot steer a terminal or fill a log", async () => {
  const hostile = { ...REFUSAL, code: "a\u001b[2Jb", request_id: "x".repeat(5000) }
  service.faults.push(response => response.writeHead(400).end(JSON.stringify(hostile)))
  expect(await errorOf(client.run(1))).toMatchObject({ code: "a [2Jb", requestId: "x".repeat(1000) })
})

test("failures without an answer name the call too", async () => {
  service.faults.push(response => void response.destroy())
  const url = `${service.baseUrl}/runs/3/verify`
  expect(await errorOf(client.verifyRun(3))).toMatchObject({ name: "NetworkError", method: "GET", url })
  service.faults.push(response => response.end("no JSON"))
  expect(await errorOf(client.verifyRun(3))).toMatchObject({ name: "ProtocolError", method: "GET", url })
  const signal = AbortSignal.abort("enough")
  expect(await errorOf(client.publish(3, { signal }))).toMatchObject({
    name: "AbortedError",
    method: "POST",
    url: `${service.baseUrl}/admin/runs/3/publish`,
  })
  service.faults.push(response => response.writeHead(401).end("{}"))
  expect(await errorOf(client.exportRuns().next())).toMatchObject({
    name: "UnauthorizedError",
    method: "GET",
    url: `${service.baseUrl}/runs/export`,
  })
})

test("no error holds the key, or the token of a publication", async () => {
  const errors = [await errorOf(client.publicBundle(TOKEN)), await errorOf(client.run(99))]
  expect(errors[0]).toMatchObject({ url: `${service.baseUrl}/public/runs/{token}/bundle.json` })
  for (const error of errors) {
    const text = JSON.stringify(error, Object.getOwnPropertyNames(error))
    expect(text).not.toContain(API_KEY)
    expect(text).not.toContain(TOKEN)
  }
})

test("an error before a call has no call", async () => {
  const error = await errorOf(client.run(0))
  expect(error).toMatchObject({ name: "InvalidArgumentError" })
  expect(error).toHaveProperty("url", undefined)
})
