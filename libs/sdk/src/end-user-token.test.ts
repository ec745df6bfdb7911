/** Whose act it is: the option `endUserToken`. docs/sdk.md, "The end user". */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { quickWaits } from "../test/quick-waits.ts"
import { API_KEY, type Service, startService } from "../test/scripted-service.ts"
import {
  type Client,
  createClient,
  type EndUserToken,
  EndUserTokenError,
  InvalidArgumentError,
  NetworkError,
  sealedCall,
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

test("where the function that gives the token throws, nothing is sent, and what it threw is the cause", async () => {
  const failing = clientOf(() => Promise.reject(new Error("signed out")))
  const error = { name: "EndUserTokenError", cause: { message: "signed out" } }
  await expect(failing.execute(request)).rejects.toMatchObject(error)
  expect(service.asked).toEqual([])
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
  await expect(call("enforce")).rejects.toMatchObject({ name: "EndUserTokenError", cause: { message: "signed out" } })
  expect({ made, observed: await call("observe") }).toEqual({ made: 0, observed: 1 })
})

test.each<[string, () => Promise<string>]>([
  ["never gives one", () => new Promise(() => undefined)],
  ["is a client of a service that is away", () => Promise.reject(new NetworkError("away"))],
])(
  "a token whose function %s is no outage of the service: its call is not made, and others are decided",
  async (_, endUserToken) => {
    const client = createClient({ baseUrl: service.baseUrl, apiKey: API_KEY, endUserToken, decisionMs: 50 })
    let made = 0
    const call = (options: { readonly endUserToken?: string } = {}) =>
      sealedCall(
        client,
        { door: "tests", called: { tool: "pay" }, arguments: {}, ...options },
        { agent: "a", fail: "open" },
        async () => ({ result: ++made }),
      )
    for (let at = 0; at < 4; at++) await expect(call()).rejects.toThrow(EndUserTokenError)
    expect({ made, asked: service.asked }).toEqual({ made: 0, asked: [] })
    await call({ endUserToken: "a.b.c" }).catch(() => undefined)
    expect(service.asked).not.toEqual([])
  },
)
