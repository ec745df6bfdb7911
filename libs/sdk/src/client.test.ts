import { canonicalize } from "@runseal/canonical"
import { OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import { Hono } from "hono"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { API_KEY, executeAnswer, type Service, startService } from "../test/scripted-service.ts"
import {
  BadRequestError,
  type Client,
  createClient,
  InvalidArgumentError,
  isUnreadable,
  OUTCOME_KINDS,
  type OutcomeKind,
  UnauthorizedError,
  UnsupportedOperationError,
  VERDICTS,
  verifyBundle,
} from "./index.ts"

let service: Service
let client: Client
beforeAll(async () => {
  service = await startService()
  client = createClient({ baseUrl: `${service.baseUrl}/`, apiKey: API_KEY })
})
afterAll(() => service.stop())
beforeEach(() => void service.asked.splice(0))

const runOf = (kind: OutcomeKind): number => OUTCOME_KINDS.indexOf(kind) + 1
/** The fixture service ends a run in the state that its payload names. */
const request = (payload: string) => ({
  program_id: "a".repeat(64),
  route_id: "claims",
  registry_record_hash: "b".repeat(64),
  payload,
  request_substance: { cost: { total_tokens: 7 } },
})

test.each(OUTCOME_KINDS)("execute gives the outcome %s as a value", async kind => {
  const sealed = service.runs[runOf(kind) - 1]!.bundle
  const answer = executeAnswer(sealed)
  expect(answer.status).toBe(OUTCOMES[kind].http_status)
  expect(await client.execute(request(kind))).toEqual({ outcome_kind: kind, ...(answer.body as object) })
})

test("execute sends the request as JSON under the key", async () => {
  await client.execute(request("ok"))
  expect(service.asked).toHaveLength(1)
  expect(service.asked[0]).toMatchObject({ method: "POST", path: "/execute", body: canonicalize(request("ok")) })
  expect(service.asked[0]?.headers).toMatchObject({ "x-service-key": API_KEY, "content-type": "application/json" })
})

test.each([
  ["NaN", { model_temperature: Number.NaN }],
  ["a lone surrogate", { actor_id: "\ud800" }],
])("a request with %s cannot be sealed exactly and is refused before it is sent", async (_, attested_context) => {
  await expect(client.execute({ ...request("ok"), attested_context })).rejects.toThrow(InvalidArgumentError)
  expect(service.asked).toEqual([])
})

test("what the service refuses is an error with its sentence", async () => {
  const refused = client.execute({ ...request("ok"), route_id: "" })
  await expect(refused).rejects.toMatchObject({
    name: "BadRequestError",
    message: new BadRequestError(400, "route_id: must not be empty.").message,
  })
})

test("members of a self-check that are null are absent", async () => {
  expect(await client.verifyRun(runOf("stage_error"))).toEqual({
    ok: true,
    verified: false,
    manifest_hash: "",
    reason: "The original run is a stage_error: it has no manifest to verify.",
  })
})

test("verify_run is verifyRun", () => {
  expect(client.verify_run).toBe(client.verifyRun)
})

test("verify is refused without a call", async () => {
  await expect(client.verify(1)).rejects.toThrow(UnsupportedOperationError)
  expect(service.asked).toEqual([])
})

test.each([0, -1, 1.5, Number.NaN, 2 ** 53])("%s is no run id and nothing is sent", async id => {
  for (const call of [client.run, client.verifyRun, client.bundle, client.statement])
    await expect(call(id)).rejects.toThrow(InvalidArgumentError)
  expect(service.asked).toEqual([])
})

test("offline, a changed bundle and an untrusted one fail, and what is no document is unreadable", async () => {
  const { text } = await client.bundle(1)
  const changed = text.replace('"route_id": "', '"route_id": "x')
  expect(verifyBundle(changed, [service.deployment.trustDocument])).toMatchObject({ verdict: VERDICTS.failed })
  expect(verifyBundle(text, [])).toMatchObject({ verdict: VERDICTS.failed })
  expect(isUnreadable(verifyBundle("{", []))).toBe(true)
})

test.each(["{", "{}", '{"kind":"vfa.trust.v1"}'])("offline, %s is no trust document to rely on", text => {
  expect(() => verifyBundle("{}", [text])).toThrow(InvalidArgumentError)
})

test("health, version, checkpoint and trust are read without the key", async () => {
  expect(await client.health()).toMatchObject({ ok: true, service: "runseal", time: "2026-01-15T13:00:00.000Z" })
  expect(await client.version()).toMatchObject({ version: "1.0.0", formula_version: "manifest.v1" })
  const { document, text } = await client.logCheckpoint()
  expect(document).toMatchObject({ origin: "runseal.local", size: service.deployment.log.head().size })
  expect(text.startsWith(`runseal.local\n${document.size}\n`)).toBe(true)
  expect((await client.trust()).document).toEqual(service.deployment.trustDocument)
  expect(service.asked).toHaveLength(4)
  for (const { headers } of service.asked) expect(headers).not.toHaveProperty("x-service-key")
})

test("without a key none is sent", async () => {
  const anonymous = createClient({ baseUrl: service.baseUrl })
  await expect(anonymous.run(1)).rejects.toThrow(UnauthorizedError)
  expect(service.asked[0]?.headers).not.toHaveProperty("x-service-key")
})

test("a path in baseUrl stands before every path", async () => {
  const behind = createClient({ baseUrl: `${service.baseUrl}/attest/` })
  await expect(behind.health()).rejects.toThrow(UnauthorizedError)
  expect(service.asked[0]?.path).toBe("/attest/health")
})

test("the request function of a Hono application is a fetch", async () => {
  const app = new Hono()
  app.post("/execute", async c => c.json({ ok: false, error: `key ${c.req.header("x-service-key")}` }, 403))
  const local = createClient({ baseUrl: "http://localhost", apiKey: API_KEY, fetch: app.request })
  await expect(local.execute(request("ok"))).rejects.toMatchObject({ status: 403, message: `key ${API_KEY}` })
})

test.each([
  ["no address", { baseUrl: "service.example" }],
  ["another protocol", { baseUrl: "ftp://service.example" }],
  ["a password", { baseUrl: "https://user:secret@service.example" }],
  ["a query", { baseUrl: "https://service.example/?key=1" }],
  ["a key that breaks its header", { apiKey: "secret\r\nx-other: 1" }],
  ["an empty key", { apiKey: "" }],
  ["more repeats than allowed", { retries: 4 }],
  ["a deadline out of bounds", { deadlineMs: 600_001 }],
  ["a timeout that is none", { timeoutMs: Number.NaN }],
  ["a size out of bounds", { maxResponseBytes: 0 }],
])("a client with %s is not made, and the error quotes no secret", (_, option) => {
  const making = (): Client => createClient({ baseUrl: "https://service.example", ...option })
  expect(making).toThrow(InvalidArgumentError)
  expect(making).not.toThrow("secret")
})

test("bundle asks for the form that is wanted, gives its text as received, and refuses others", async () => {
  const sealed = service.runs[0]!.bundle
  for (const [options, path] of [
    [undefined, "/runs/1/artifacts"],
    [{}, "/runs/1/artifacts"],
    [{ form: "sealed" }, "/runs/1/artifacts?form=sealed"],
    [{ form: "full" }, "/runs/1/artifacts?form=full"],
  ] as const) {
    const { document, text } = await client.bundle(1, options)
    expect(service.asked.at(-1)?.path).toBe(path)
    expect(document).toEqual(sealed)
    expect(JSON.parse(text)).toEqual(sealed)
  }
  service.asked.splice(0)
  const wrong: object = { form: "lean" }
  await expect(client.bundle(1, wrong)).rejects.toThrow("form must be one of sealed, full.")
  expect(service.asked).toEqual([])
})
