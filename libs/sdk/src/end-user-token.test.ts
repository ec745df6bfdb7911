/** Whose act it is: the option `endUserToken`. docs/sdk.md, "The end user". */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { quickWaits } from "../test/quick-waits.ts"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import { type Client, createClient, type EndUserToken, InvalidArgumentError, sealedCall } from "./index.ts"

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())
beforeEach(() => {
  service.asked.splice(0)
  service.faults.splice(0)
})

const clientOf = (endUserToken?: EndUserToken): Client =>
  createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, endUserToken, ...quickWaits() })
const request = {
  program_id: "a".repeat(64),
  registry_record_hash: "b".repeat(64),
  route_id: "claims",
  payload: "ok",
}
const tokens = (): unknown[] => service.asked.map(({ headers }) => headers["x-end-user-token"])

test("the token of the client goes with what is decided, and with nothing else", async () => {
  const client = clientOf("a.b.c")
  await client.execute(request)
  await client.health()
  await client.attest({ digest: "5e".repeat(32) })
  await client.permits.open({ ...request, audience: "x", reserve_tokens: 1 }).catch(() => undefined)
  expect(tokens()).toEqual(["a.b.c", undefined, undefined, "a.b.c"])
})

test("that of a call comes before it, and a function is asked for each attempt", async () => {
  let made = 0
  const client = clientOf("a.b.c")
  service.faults.push(response => response.writeHead(503).end("{}"))
  await client.execute(request, { idempotencyKey: "k", endUserToken: async () => `a.b.${++made}` })
  expect(tokens()).toEqual(["a.b.1", "a.b.2"])
  await clientOf(() => undefined).execute(request)
  expect(tokens().at(-1)).toBeUndefined()
})

test.each(["", "Bearer a.b.c", "a.b", `a.b.${"c".repeat(8192)}`])(
  "%j is refused before anything is sent",
  async token => {
    await expect(clientOf(token).execute(request)).rejects.toThrow(InvalidArgumentError)
    expect(service.asked).toEqual([])
  },
)

test("an error of the function that gives the token is that of the call", async () => {
  const failing = clientOf(() => Promise.reject(new Error("signed out")))
  await expect(failing.execute(request)).rejects.toThrow("signed out")
})

test("a call whose token cannot be had is not made, also where calls go on; one that is only observed is", async () => {
  const endUserToken = () => Promise.reject(new Error("signed out"))
  const failing = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, endUserToken })
  let made = 0
  const call = (mode: "enforce" | "observe") =>
    sealedCall(
      failing,
      { door: "tests", called: { tool: "pay" }, arguments: {} },
      { agent: "a", mode, fail: "open" },
      async () => ({ result: ++made }),
    )
  await expect(call("enforce")).rejects.toThrow("signed out")
  expect({ made, observed: await call("observe") }).toEqual({ made: 0, observed: 1 })
})
