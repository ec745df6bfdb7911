/** docs/doors/README.md, "When the service is away": what a door does to its program meanwhile. The service is real, or a socket that never answers. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { tool as chainTool } from "@langchain/core/tools"
import { sealTools } from "@runseal/agents/ai-sdk"

import { sealCallback, sealTools as sealChainTools } from "@runseal/agents/langchain"
import { sealFunctions } from "@runseal/agents/openai-agents"
import { type Client, type ClientOptions, createClient, flushObserved } from "@runseal/sdk"
import { tool } from "ai"
import { afterEach, expect, test } from "vitest"
import { z } from "zod"
import { objectAt } from "../../server/spec/harness/read-answer.ts"
import { countedRecords } from "./counted-records.ts"

const { url, records, newest } = countedRecords("ai-sdk")
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

/** An address where requests are taken and never answered, and how many were. */
async function silent() {
  let asked = 0
  const server = createServer(() => void asked++)
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { baseUrl: `http://127.0.0.1:${port}`, asked: () => asked }
}

/** A call that waits for its decision takes this long. The calls of these tests must not wait. */
const DECISION_MS = 60_000
/** The longest pause that an event loop may have. */
const STALL_MS = 2_000

/** Calls beside a silent service: `RUNSEAL_TEST_ACTS=1000000 npx vitest run --project doors apps/agents/test/outage.test.ts`. */
const ACTS = Number(process.env.RUNSEAL_TEST_ACTS ?? 100_000)

const sealed = (options: ClientOptions, settings: Parameters<typeof sealTools>[2], onUnsealed = () => {}) => {
  const used = createClient(options)
  const echo = tool({ inputSchema: z.object({ text: z.string() }), execute: async ({ text }) => text })
  const { execute } = sealTools(used, { echo }, { ...settings, onUnsealed }).echo
  const call = async (text: string) => await execute?.({ text }, { toolCallId: "c", messages: [], context: {} })
  return { used, call }
}

/** Bytes of the heap that are in use, without garbage. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
  return process.memoryUsage().heapUsed
}

/** Milliseconds that something takes, and the longest pause of the event loop meanwhile. */
async function timed(work: () => Promise<unknown>): Promise<{ readonly took: number; readonly stalled: number }> {
  const since = performance.now()
  let [last, stalled] = [since, 0]
  const ticker = setInterval(() => {
    const now = performance.now()
    stalled = Math.max(stalled, now - last)
    last = now
  }, 5)
  await work()
  clearInterval(ticker)
  return { took: performance.now() - since, stalled }
}

type Call = (client: Client, number: number) => Promise<unknown>
const options = { agent: "a", mode: "observe" } as const
const schema = z.object({ number: z.number() })
const chain = chainTool(async ({ number }: { number: number }) => number, { name: "echo", schema })

test.each<[string, Call]>([
  [
    "a tool of the AI SDK",
    async (client, number) => {
      const echo = tool({ inputSchema: schema, execute: async given => given.number })
      const { execute } = sealTools(client, { echo }, options).echo
      return await execute?.({ number }, { toolCallId: "c", messages: [], context: {} })
    },
  ],
  ["a tool of LangChain", async (client, number) => sealChainTools(client, [chain], options)[0]?.invoke({ number })],
  [
    "a tool under the callback of LangChain",
    (client, number) => chain.invoke({ number }, { callbacks: [sealCallback(client, options)] }),
  ],
  [
    "a function of OpenAI Agents",
    (client, number) =>
      sealFunctions(client, options)("echo", async (given: { number: number }) => given.number)({ number }),
  ],
])("%s that is observed waits for nothing, also when nobody ever answers", async (_, call) => {
  const { baseUrl } = await silent()
  const client = createClient({ baseUrl, decisionMs: DECISION_MS })
  const { took, stalled } = await timed(async () => {
    for (let at = 0; at < 20; at++) expect(await call(client, at)).toBe(at)
    await new Promise(resolve => setTimeout(resolve, 100))
  })
  expect(took).toBeLessThan(DECISION_MS)
  expect(stalled).toBeLessThan(STALL_MS)
})

test("what it observed is sealed all the same, with what became of it", async () => {
  // The service shares this process: its decision may take longer than an observed call waits for it by default.
  const { used, call } = sealed({ baseUrl: url(), decisionMs: DECISION_MS }, { agent: "a", mode: "observe" })
  await call("hello")
  await flushObserved(used)
  expect(await records()).toEqual(["echo ok completed"])
})

test("calls beside a silent service: memory is bounded, each is counted once, the next record has their number, and no loop stalls", {
  timeout: 60_000 + ACTS / 2,
}, async () => {
  const { baseUrl } = await silent()
  let silentNow = true
  let unsealed = 0
  const fetched: ClientOptions["fetch"] = (address, init) =>
    fetch(silentNow ? address.replace(url(), baseUrl) : address, init)
  const { used, call } = sealed({ baseUrl: url(), fetch: fetched }, { agent: "a", mode: "observe" }, () => unsealed++)
  const before = usedBytes()
  const { stalled } = await timed(async () => {
    for (let at = 0; at < ACTS; at++) {
      await call("x".repeat(1_000))
      // A program that does something else, too.
      if (at % 100 === 0) await new Promise(setImmediate)
    }
  })
  await flushObserved(used)
  const grown = usedBytes() - before
  expect(unsealed).toBe(ACTS)
  expect(grown).toBeLessThan(20_000_000)
  expect(stalled).toBeLessThan(STALL_MS)
  if (process.env.RUNSEAL_TEST_ACTS !== undefined)
    console.log(`${ACTS} calls: heap ${Math.round(grown / 1024)} KiB more, longest pause ${Math.round(stalled)} ms`)
  silentNow = false
  await expect
    .poll(
      async () => {
        await call("again")
        await flushObserved(used)
        return await records()
      },
      { timeout: 20_000, interval: 1_000 },
    )
    .toEqual(["echo ok completed"])
  const { calls_without_record } = objectAt(await newest(), "reproducibility_context", "declared")
  expect(calls_without_record).toBe(unsealed)
})

test("fail open: three calls wait 2 s for a decision, and the next ones for none", async () => {
  const { baseUrl, asked } = await silent()
  const { call } = sealed({ baseUrl, decisionMs: 200 }, { agent: "a", fail: "open" })
  const { took } = await timed(async () => {
    for (let at = 0; at < 50; at++) expect(await call(`${at}`)).toBe(`${at}`)
  })
  expect(asked()).toBe(3)
  expect(took).toBeGreaterThan(550)
  expect(took).toBeLessThan(2_500)
})

test("fail closed: no call is made, and the service is asked for each", async () => {
  const { baseUrl, asked } = await silent()
  const { call } = sealed({ baseUrl, decisionMs: 100 }, { agent: "a", fail: "closed" })
  for (let at = 0; at < 5; at++) await expect(call("x")).rejects.toThrow("did not answer")
  expect(asked()).toBe(5)
})

test("a close without an answer is sent again when the service is back", async () => {
  let gone = true
  const lost: ClientOptions["fetch"] = (address, init) => {
    if (gone && address.endsWith("/close")) throw new Error("gone")
    return fetch(address, init)
  }
  const { call } = sealed(
    { baseUrl: url(), fetch: lost, retries: 0, decisionMs: DECISION_MS },
    { agent: "a", fail: "open" },
  )
  expect(await call("late")).toBe("late")
  expect(await records()).toEqual([])
  gone = false
  await expect.poll(records, { timeout: 10_000 }).toEqual(["echo ok completed"])
})
