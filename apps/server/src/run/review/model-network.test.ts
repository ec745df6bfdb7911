import { setTimeout as sleep } from "node:timers/promises"
import { inspect } from "node:util"
import { gzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  type Answer,
  API_KEY,
  anthropicWire,
  failureOf,
  openAiWire,
  send,
  startWireServer,
  stillWorld,
  type WireServer,
} from "../../../spec/harness/model-apis.ts"
import { PROCESS_WORLD } from "../../abroad/ask.ts"
import { MAX_REPLY_BYTES, MAX_RETRIES } from "./ask-model.ts"
import { createReviewer, MAX_RUNNING_REVIEWS, MAX_WAITING_REVIEWS } from "./create-reviewer.ts"
import type { ReviewRequest } from "./reviewer.ts"

const TEXT = "The transfer to account 4711 is approved."
const request: ReviewRequest = { ai_output_text: TEXT, route_id: "payments/approve" }
const never = new AbortController().signal

let server: WireServer
beforeEach(async () => {
  server = await startWireServer()
})
afterEach(() => server.close())

describe.each([
  ["the OpenAI-compatible reviewer", openAiWire],
  ["the Anthropic reviewer", anthropicWire],
])("%s", (_, wire) => {
  const review = (world = stillWorld(), signal = never) => wire.create(server.base, world).review(request, signal)
  const released = JSON.stringify(wire.verdict({ verdict: "release", reason: "ACCEPTABLE" }))

  test("reads no more than the bound of a reply, sent whole, in pieces or compressed", async () => {
    server.answer = send(200, released + " ".repeat(MAX_REPLY_BYTES))
    expect((await failureOf(review())).code).toBe("too_large")
    server.answer = async response => {
      response.writeHead(200, { "content-type": "application/json" })
      for (let i = 0; i < 1000 && !response.destroyed; i += 1) {
        response.write(" ".repeat(1024))
        await sleep(0)
      }
      response.end()
    }
    expect((await failureOf(review())).code).toBe("too_large")
    server.answer = send(200, gzipSync(Buffer.alloc(10 * 1024 * 1024)), { "content-encoding": "gzip" })
    expect((await failureOf(review())).code).toBe("too_large")
    expect(server.received).toHaveLength(3)
  })

  test.each([400, 401, 403, 404, 413])("does not ask again after status %d", async status => {
    server.answer = send(status, `{"error":"${TEXT}"}`)
    expect(await failureOf(review())).toMatchObject({ code: "bad_status", status })
    expect(server.received).toHaveLength(1)
  })

  test.each([429, 500, 503])(
    `asks ${MAX_RETRIES} times more after status %d, waiting a random and growing time`,
    async status => {
      const waits: number[] = []
      server.answer = send(status, "{}")
      expect(await failureOf(review(stillWorld(waits)))).toMatchObject({ code: "bad_status", status })
      expect(server.received).toHaveLength(1 + MAX_RETRIES)
      expect(waits).toEqual([500, 1000])
    },
  )

  test("takes the verdict of a later attempt", async () => {
    const answers = [(response => response.destroy()) satisfies Answer, send(503, "{}"), send(200, released)]
    server.answer = (response, call) => answers[call - 1]?.(response, call)
    expect((await review()).decision_kind).toBe("release")
    expect(server.received).toHaveLength(3)
  })

  test.each([
    ["7", 7000],
    ["Sun, 01 Mar 2026 00:00:09 GMT", 9000],
    ["Sat, 28 Feb 2026 23:00:00 GMT", 0],
    ["soon", 500],
  ])("waits as Retry-After: %s asks", async (value, expected) => {
    const waits: number[] = []
    const answers = [send(429, "{}", { "retry-after": value }), send(200, released)]
    server.answer = (response, call) => answers[call - 1]?.(response, call)
    expect((await review(stillWorld(waits))).decision_kind).toBe("release")
    expect(waits).toEqual([expected])
  })

  test("does not wait for a Retry-After beyond its bound", async () => {
    const waits: number[] = []
    server.answer = send(429, "{}", { "retry-after": "3600" })
    expect((await failureOf(review(stillWorld(waits)))).code).toBe("bad_status")
    expect(waits).toEqual([])
  })

  test("follows no redirect", async () => {
    server.answer = send(307, "", { location: `${server.base}/elsewhere` })
    expect(await failureOf(review())).toMatchObject({ code: "bad_status", status: 307 })
    expect(new Set(server.received.map(({ path }) => path))).toEqual(new Set([wire.path]))
  })

  test("a connection that is refused or breaks off is out of reach", async () => {
    server.answer = response => response.destroy()
    expect((await failureOf(review())).code).toBe("unreachable")
    server.answer = response => {
      response.writeHead(200, { "content-length": "100" }).write("{")
      setTimeout(() => response.destroy(), 20)
    }
    expect((await failureOf(review())).code).toBe("unreachable")
    await server.close()
    expect((await failureOf(review())).code).toBe("unreachable")
    server = await startWireServer()
  })

  test.each<[string, Answer]>([
    ["silence", () => undefined],
    [
      "a slow drip",
      async response => {
        response.writeHead(200)
        while (!response.destroyed) {
          response.write(" ")
          await sleep(10)
        }
      },
    ],
    ["a long Retry-After", send(429, "{}", { "retry-after": "30" })],
  ])("%s ends at the deadline", async (_name, answer) => {
    server.answer = answer
    const start = performance.now()
    expect((await failureOf(review(PROCESS_WORLD, AbortSignal.timeout(150)))).code).toBe("timeout")
    expect(performance.now() - start).toBeLessThan(20_000)
  })

  test.each<[string, Answer]>([
    ["a status", send(401, `bad key ${API_KEY} ${TEXT}`)],
    ["a reply", send(200, `bad key ${API_KEY} ${TEXT}`)],
    ["an answer", send(200, JSON.stringify(wire.text(`bad key ${API_KEY} ${TEXT}`)))],
    ["a retried status", send(503, `bad key ${API_KEY} ${TEXT}`)],
    ["a broken connection", response => response.destroy()],
  ])(
    "the failure for %s carries neither key nor text nor address nor a word of the reviewer",
    async (_name, answer) => {
      server.answer = answer
      const shown = inspect(await failureOf(review()), { depth: 10, showHidden: true })
      for (const word of [API_KEY, TEXT, "bad key", server.base]) expect(shown).not.toContain(word)
      expect(shown).not.toContain("[cause]")
    },
  )
})

describe("the configured reviewer", () => {
  const configured = (timeoutMs: number) =>
    createReviewer({ kind: "openai", baseUrl: `${server.base}/v1`, model: "m", timeoutMs }, stillWorld())

  test("asks an own server without a key", async () => {
    server.answer = send(200, JSON.stringify(openAiWire.verdict({ verdict: "release", reason: "ACCEPTABLE" })))
    expect((await configured(5000).review(request, never)).decision_kind).toBe("release")
    expect(server.received[0]).toMatchObject({ path: "/v1/chat/completions" })
    expect(server.received[0]?.headers.authorization).toBeUndefined()
  })

  test.each([
    ["at its deadline", 100, () => never],
    ["when its caller gives up", 60_000, () => AbortSignal.timeout(100)],
    ["before it begins when its caller has given up", 60_000, () => AbortSignal.abort()],
  ])("ends %s", async (_, timeoutMs, signal) => {
    server.answer = () => undefined
    expect((await failureOf(configured(timeoutMs).review(request, signal()))).code).toBe("timeout")
  })

  test("refuses at once what neither runs nor finds a place to wait", async () => {
    server.answer = () => undefined
    const reviewer = configured(60_000)
    const caller = new AbortController()
    const places = MAX_RUNNING_REVIEWS + MAX_WAITING_REVIEWS
    const placed = Array.from({ length: places }, () => failureOf(reviewer.review(request, caller.signal)))
    expect((await failureOf(reviewer.review(request, never))).code).toBe("overloaded")
    caller.abort()
    expect((await Promise.all(placed)).map(({ code }) => code)).toEqual(placed.map(() => "timeout"))
    expect(server.received.length).toBeLessThanOrEqual(MAX_RUNNING_REVIEWS)
  })
})
