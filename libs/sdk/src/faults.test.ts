/** What the client makes of a service, or of something in its place, that does not behave. */
import type { ServerResponse } from "node:http"
import fc from "fast-check"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { type QuickWaits, quickWaits } from "../test/quick-waits.ts"
import { API_KEY, altered, executeAnswer, type Fault, type Service, startService } from "../test/scripted-service.ts"
import {
  AbortedError,
  BadRequestError,
  type Client,
  type ClientOptions,
  ConflictError,
  createClient,
  type ExecuteRequest,
  ForbiddenError,
  HttpStatusError,
  NetworkError,
  NotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RateLimitedError,
  RunsealError,
  TimeoutError,
  UnauthorizedError,
  UnavailableError,
} from "./index.ts"

let service: Service
let time: QuickWaits
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())
beforeEach(() => {
  service.asked.splice(0)
  service.faults.splice(0)
  time = quickWaits()
})

const inRealTime = (options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, ...options })
const clientOf = (options: Partial<ClientOptions> = {}): Client => inRealTime({ ...time, ...options })

const REQUEST: ExecuteRequest = {
  program_id: "a".repeat(64),
  route_id: "claims",
  registry_record_hash: "b".repeat(64),
  payload: "ok",
}

type Headers = Readonly<Record<string, string>>
const says =
  (status: number, text: string | Uint8Array = "", headers: Headers = {}): Fault =>
  response =>
    response.writeHead(status, headers).end(text)
const refuses = (status: number, headers: Headers = {}): Fault =>
  says(status, '{"ok":false,"error":"Not now."}', headers)
const silent: Fault = () => undefined
const cutsOff: Fault = response => {
  response.writeHead(200, { "content-length": "1000" }).write('{"ok":true')
  setImmediate(() => response.destroy())
}
const dribbles: Fault = response => {
  response.writeHead(200)
  const timer = setInterval(() => response.write(" "), 5)
  response.on("close", () => clearInterval(timer))
}

type Called = readonly (readonly [name: string, call: (client: Client) => Promise<unknown>])[]
/** The calls that make something each time. */
const MAKING: Called = [
  ["execute", client => client.execute(REQUEST)],
  ["attest", client => client.attest({ digest: "5e".repeat(32) })],
  ["createKey", client => client.createKey({ name: "erp" })],
]
/** The calls that make nothing, or nothing more when they are repeated. */
const REPEATABLE: Called = [
  ["verifyRun", client => client.verifyRun(1)],
  ["bundle", client => client.bundle(1)],
  ["health", client => client.health()],
  ["verifyDeterminism", client => client.verifyDeterminism(REQUEST)],
  ["dcaeVerify", client => client.dcaeVerify({ ...service.runs[0]!.bundle })],
  ["attestations", client => client.attestations()[Symbol.asyncIterator]().next()],
  ["listKeys", client => client.listKeys()],
  ["publish", client => client.publish(1)],
  ["unpublish", client => client.unpublish(1)],
]

test.each([
  [400, BadRequestError],
  [401, UnauthorizedError],
  [403, ForbiddenError],
  [404, NotFoundError],
  [413, PayloadTooLargeError],
  [429, RateLimitedError],
  [503, UnavailableError],
  [409, ConflictError],
  [500, HttpStatusError],
])("status %i is an error of its own class with the service's sentence", async (status, expected) => {
  service.faults.push(refuses(status), refuses(status))
  const client = clientOf({ retries: 0 })
  for (const call of [() => client.execute(REQUEST), () => client.run(1)]) {
    const error = await call().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(expected)
    expect(error).toMatchObject({ name: expected.name, status, message: "Not now." })
  }
})

test.each([
  ["a page of a proxy", "<html>Bad gateway</html>"],
  ["nothing", ""],
  ["a sentence that is no string", '{"ok":false,"error":{}}'],
])("a refusal that holds %s has a sentence of ours", async (_, text) => {
  service.faults.push(says(403, text))
  await expect(clientOf().run(1)).rejects.toMatchObject({
    name: "ForbiddenError",
    message: new ForbiddenError(403, "The service answered with status 403.").message,
  })
})

test("a service's sentence is repeated in part only when it is long", async () => {
  service.faults.push(says(400, JSON.stringify({ ok: false, error: "x".repeat(5000) })))
  await expect(clientOf().run(1)).rejects.toMatchObject({ message: "x".repeat(1000) })
})

test("a service's sentence carries nothing that a terminal would obey", async () => {
  service.faults.push(says(400, JSON.stringify({ ok: false, error: "No.\u001b[2K\nok" })))
  await expect(clientOf().run(1)).rejects.toMatchObject({ message: "No. [2K ok" })
})

test("a 500 without a run is no outcome", async () => {
  service.faults.push(refuses(500))
  await expect(clientOf().execute(REQUEST)).rejects.toMatchObject({ name: "HttpStatusError", status: 500 })
})

test("a 422 of no known stage is no outcome", async () => {
  service.faults.push(says(422, '{"ok":false,"error":"No.","error_stage":"LUNCH"}'))
  await expect(clientOf().execute(REQUEST)).rejects.toMatchObject({ name: "HttpStatusError", status: 422 })
})

test("AIVP_T4 under 500 is a stage that failed, not a halt", async () => {
  const answer = { ok: false, run_id: 9, duration_ms: 1, error: "The step did not answer.", error_stage: "AIVP_T4" }
  service.faults.push(says(500, JSON.stringify(answer)))
  expect(await clientOf().execute(REQUEST)).toEqual({ outcome_kind: "stage_error", ...answer })
})

test("members of an answer that this release does not know are passed over", async () => {
  const { body } = executeAnswer(service.runs[0]!.bundle)
  service.faults.push(says(200, altered(body, { news: [1] })))
  expect(await clientOf().execute(REQUEST)).toEqual({ outcome_kind: "ok", ...(body as object) })
})

test("a finding that this release does not know is given as it is: the run exists", async () => {
  const findings = [
    { code: "COST_WITHOUT_TOTAL", count: 1 },
    { code: "A_LATER_FINDING", count: 2 },
  ]
  service.faults.push(says(200, altered(executeAnswer(service.runs[0]!.bundle).body, { findings })))
  expect(await clientOf().execute(REQUEST)).toMatchObject({ outcome_kind: "ok", findings })
})

test.each<[string, () => string | Uint8Array]>([
  ["a page", () => "<html>Welcome</html>"],
  ["nothing", () => ""],
  ["an array", () => "[]"],
  ["bytes that are no UTF-8", () => Uint8Array.of(0x7b, 0xff, 0x7d)],
  ["a key twice", () => '{"ok":true,"ok":true}'],
  ["a number that no double carries", () => '{"ok":true,"run_id":9007199254740993}'],
  ["a refusal under 200", () => '{"ok":false,"error":"No."}'],
  ["a manifest cut short", () => altered(executeAnswer(service.runs[0]!.bundle).body, { manifest: {} })],
  ["a run id of another kind", () => altered(executeAnswer(service.runs[0]!.bundle).body, { run_id: "1" })],
])("an answer that holds %s is not the service's and is not asked for again", async (_, text) => {
  service.faults.push(says(200, text()), says(200, text()))
  await expect(clientOf().execute(REQUEST)).rejects.toThrow(ProtocolError)
  await expect(clientOf().run(1)).rejects.toThrow(ProtocolError)
  expect(service.asked).toHaveLength(2)
})

test("an error about an answer says what is wrong with it and quotes nothing of it", async () => {
  service.faults.push(says(200, '{"ok":"secret"}'), says(200, "secret"))
  await expect(clientOf().health()).rejects.toMatchObject({
    name: "ProtocolError",
    message: new ProtocolError("ok: must be true").message,
  })
  await expect(clientOf().execute(REQUEST)).rejects.toMatchObject({
    name: "ProtocolError",
    message: new ProtocolError("it is not strict JSON, syntax").message,
  })
})

test("any JSON object in place of an outcome is a result or an error of ours, whatever the status", async () => {
  const answers = fc.record(
    { ok: fc.boolean(), run_id: fc.jsonValue(), error_stage: fc.constantFrom("PEPG", "CCV", "AIVP_T4", "DOG", 7) },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(200, 422, 500, 404), answers, async (status, answer) => {
      const fetch = (): Response => new Response(JSON.stringify(answer), { status })
      const result = await clientOf({ fetch })
        .execute(REQUEST)
        .catch((error: unknown) => error)
      if (!(result instanceof RunsealError)) expect(result).toMatchObject({ outcome_kind: "stage_error" })
    }),
  )
})

test("an answer in many pieces is put together, up to the very bound", async () => {
  const text = JSON.stringify(service.runs[0]!.bundle)
  const encoded = new TextEncoder().encode(text)
  const start = (stream: ReadableStreamDefaultController<Uint8Array>): void => {
    for (let at = 0; at < encoded.length; at += 7) stream.enqueue(encoded.slice(at, at + 7))
    stream.close()
  }
  const inPieces = (): Response => new Response(new ReadableStream({ start }))
  const bounded = (maxResponseBytes: number): Client => clientOf({ maxResponseBytes, fetch: inPieces })
  expect(await bounded(encoded.length).bundle(1)).toMatchObject({ text })
  await expect(bounded(encoded.length - 1).bundle(1)).rejects.toThrow(ProtocolError)
})

test("an answer larger than the bound is broken off", async () => {
  let closed: Promise<void> | undefined
  service.faults.push((response: ServerResponse) => {
    closed = new Promise(done => response.on("close", done))
    response.writeHead(200)
    const pour = (): void => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
    }
    response.on("drain", pour)
    pour()
  })
  const call = clientOf({ maxResponseBytes: 1_000_000 }).bundle(1)
  await expect(call).rejects.toMatchObject({
    name: "ProtocolError",
    message: new ProtocolError("it is larger than 1000000 bytes").message,
  })
  await closed
  expect(service.asked).toHaveLength(1)
})

test.each([301, 302, 303, 307, 308])(
  "a redirect %i is not followed, so that the key goes nowhere else",
  async status => {
    const elsewhere = await startService()
    service.faults.push(says(status, "", { location: `${elsewhere.baseUrl}/runs/1` }))
    await expect(clientOf().run(1)).rejects.toThrow(ProtocolError)
    expect([service.asked.length, elsewhere.asked.length]).toEqual([1, 0])
    await elsewhere.stop()
  },
)

test.each(REPEATABLE)("%s is repeated after a 503, a 502 and a 408", async (_, call) => {
  service.faults.push(refuses(503), refuses(502), refuses(408))
  await call(clientOf())
  expect(service.asked).toHaveLength(4)
})

test("a call is repeated three times at most, each wait drawn from twice the span before", async () => {
  service.faults.push(...Array(5).fill(refuses(503)))
  await expect(clientOf().run(1)).rejects.toThrow(UnavailableError)
  expect(service.asked).toHaveLength(4)
  expect(time.waits).toEqual([250, 500, 1000])
})

test("full jitter: a wait may be as short as nothing", async () => {
  time = quickWaits(0)
  service.faults.push(refuses(503))
  await clientOf().run(1)
  expect(time.waits).toEqual([0])
})

test("retries: 0 repeats nothing", async () => {
  service.faults.push(refuses(503))
  await expect(clientOf({ retries: 0 }).run(1)).rejects.toThrow(UnavailableError)
  expect(service.asked).toHaveLength(1)
})

describe.each(MAKING)("%s is never repeated", (_, call) => {
  test.each<[string, Fault]>([
    ["a 503", refuses(503, { "retry-after": "1" })],
    ["a 429", refuses(429, { "retry-after": "1" })],
    ["a 408, which a proxy may have answered", refuses(408)],
    ["an answer cut off", cutsOff],
    ["a closed connection", response => response.destroy()],
  ])("not after %s: it may have made something", async (_, fault) => {
    service.faults.push(fault)
    await expect(call(clientOf())).rejects.toThrow(RunsealError)
    expect(service.asked).toHaveLength(1)
    expect(time.waits).toEqual([])
  })
})

test("an answer of another status than the call's own is none: 200 made nothing, 201 was not asked for", async () => {
  service.faults.push(says(200, "{}"), says(201, "{}"))
  await expect(clientOf().createKey({ name: "erp" })).rejects.toMatchObject({ name: "HttpStatusError", status: 200 })
  await expect(clientOf().run(1)).rejects.toMatchObject({ name: "HttpStatusError", status: 201 })
})

test.each([
  ["seconds", "7", 7000],
  ["a date", "Thu, 15 Jan 2026 12:00:09 GMT", 9000],
  ["a date that has passed", "Thu, 15 Jan 2026 11:00:00 GMT", 0],
  ["something else", "soon", 250],
])("Retry-After in %s is kept", async (_, field, wait) => {
  service.faults.push(refuses(429, { "retry-after": field }))
  await clientOf().run(1)
  expect(time.waits).toEqual([wait])
})

test("a Retry-After beyond the deadline is told at once", async () => {
  service.faults.push(refuses(429, { "retry-after": "120" }))
  const error = await clientOf()
    .run(1)
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(RateLimitedError)
  expect(error).toMatchObject({ retryAfterSeconds: 120 })
  expect(time.waits).toEqual([])
})

test("an answer cut off is asked for again", async () => {
  service.faults.push(cutsOff, cutsOff)
  expect(await clientOf().run(1)).toMatchObject({ id: 1 })
  service.faults.push(cutsOff)
  await expect(clientOf({ retries: 0 }).run(1)).rejects.toThrow(NetworkError)
})

test("a service that cannot be reached is a network error that names its cause and not the key", async () => {
  const gone = await startService()
  await gone.stop()
  const error = await clientOf({ baseUrl: gone.baseUrl })
    .run(1)
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(NetworkError)
  expect(error).toMatchObject({ cause: { cause: { code: "ECONNREFUSED" } } })
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(API_KEY)
  expect(time.waits).toHaveLength(3)
})

test.each<[string, Fault]>([
  ["says nothing", silent],
  ["never ends its answer", dribbles],
])("the timeout holds for the whole exchange with a service that %s", async (_, fault) => {
  service.faults.push(fault)
  await expect(inRealTime({ timeoutMs: 50 }).execute(REQUEST)).rejects.toMatchObject({
    name: "TimeoutError",
    message: new TimeoutError(50).message,
  })
})

test("an exchange that times out is repeated within the deadline", async () => {
  service.faults.push(silent)
  expect(await inRealTime({ timeoutMs: 500, random: () => 0 }).run(1)).toMatchObject({ id: 1 })
  expect(service.asked).toHaveLength(2)
})

test("the deadline bounds a call with all its repeats", async () => {
  service.faults.push(silent, silent, silent, silent)
  const client = inRealTime({ timeoutMs: 600, random: () => 0 })
  await expect(client.run(1, { deadlineMs: 1_000 })).rejects.toMatchObject({
    name: "TimeoutError",
    message: new TimeoutError(1_000).message,
  })
  expect(service.asked).toHaveLength(2)
})

test("the timeout holds with a fetch that listens to no signal", async () => {
  const client = inRealTime({ fetch: () => new Promise(() => undefined), retries: 0 })
  await expect(client.health({ timeoutMs: 20 })).rejects.toThrow(TimeoutError)
})

test("a signal that is aborted already sends nothing", async () => {
  const call = clientOf().execute(REQUEST, { signal: AbortSignal.abort("changed my mind") })
  await expect(call).rejects.toMatchObject({ name: "AbortedError", cause: "changed my mind" })
  expect(service.asked).toEqual([])
})

test("a signal aborts an exchange, which is not repeated", async () => {
  const controller = new AbortController()
  service.faults.push(() => controller.abort())
  await expect(clientOf().run(1, { signal: controller.signal })).rejects.toThrow(AbortedError)
  expect(service.asked).toHaveLength(1)
})

test("a signal aborts a wait", async () => {
  service.faults.push(refuses(429, { "retry-after": "60" }))
  const call = inRealTime().run(1, { signal: AbortSignal.timeout(500) })
  await expect(call).rejects.toMatchObject({ name: "AbortedError", cause: { name: "TimeoutError" } })
  expect(service.asked).toHaveLength(1)
})

test("a signal of many calls keeps no listener of those that ended", async () => {
  const { signal } = new AbortController()
  let listeners = 0
  const counted = new Proxy(signal, {
    get: (target, name) => {
      if (name === "addEventListener") return () => void listeners++
      if (name === "removeEventListener") return () => void listeners--
      return Reflect.get(target, name, target)
    },
  })
  await clientOf().run(1, { signal: counted })
  expect(listeners).toBe(0)
})
