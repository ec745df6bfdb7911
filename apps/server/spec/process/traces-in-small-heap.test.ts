/** Requests of OpenTelemetry that take as much memory as they can, many at once, against a service with a small heap. */
import { Agent, request as httpRequest } from "node:http"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { DOCUMENT_MAX_BYTES } from "@runseal/api/endpoint"
import type { JsonValue } from "@runseal/canonical"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, startChild } from "../harness/child.ts"

const folder = testFolder("runseal-traces-heap")

const HEAP_MIB = 128
const REQUESTS = 15

let made = 0
function spanOf(operation: string, input = ""): JsonValue {
  made++
  return {
    traceId: made.toString(16).padStart(32, "a"),
    spanId: made.toString(16).padStart(16, "b"),
    attributes: [
      { key: "gen_ai.operation.name", value: { stringValue: operation } },
      { key: "gen_ai.input.messages", value: { stringValue: input } },
    ],
  }
}
const bodyOf = (spans: string): string => `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`
/** A span of a model that is large by itself. */
const large = (): string => JSON.stringify(spanOf("chat", "some words ".repeat(10_000)))

/** Nearly all values and bytes that a request may have: more than the budget by itself. Some spans are large ones of models. */
const manyValues = (): string => bodyOf(`${Array.from({ length: 24 }, large).join(",")},${'{"a":1},'.repeat(87_000)}{}`)
/** The largest request of large spans of models. */
const manyTexts = (): string => bodyOf(Array.from({ length: 37 }, large).join(","))
/** Empty spans in protobuf, of two bytes each, as many as a request may have. */
const EMPTY_SPANS = ((): Buffer => {
  const field = (tag: number, content: Buffer): Buffer => {
    const length = [0, 7, 14, 21].map((shift, at) => ((content.length >> shift) & 0x7f) | (at < 3 ? 0x80 : 0))
    return Buffer.concat([Buffer.from([tag, ...length]), content])
  }
  const spans = Buffer.alloc(2 * 262_000, Buffer.of(0x12, 0x00))
  return field(0x0a, field(0x12, spans))
})()

const agent = new Agent({ keepAlive: true, maxSockets: REQUESTS })
afterAll(() => agent.destroy())

type Sending = { readonly type: "application/json" | "application/x-protobuf"; readonly bytes: Buffer }
const send = (url: string, { type, bytes }: Sending): Promise<number> =>
  new Promise((resolve, reject) => {
    const packed = gzipSync(bytes)
    const headers = { "content-type": type, "content-encoding": "gzip", "content-length": packed.length }
    const sending = httpRequest(`${url}/v1/traces`, { method: "POST", agent, headers }, response => {
      response.resume()
      response.on("error", reject)
      response.on("end", () => resolve(response.statusCode ?? 0))
    })
    sending.on("error", reject)
    sending.end(packed)
  })
const inJson = (text: string): Sending => ({ type: "application/json", bytes: Buffer.from(text) })

describe(`a service with a heap of ${HEAP_MIB} MiB`, () => {
  let child: Child
  beforeAll(async () => {
    const options = ["--data-dir", join(folder, "data"), "--anonymous-rate-limit", "1000000"]
    child = await startChild(options, { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` })
  })
  afterAll(async () => {
    expect((await child.end("SIGTERM")).code).toBe(0)
  })
  const total = async () => (await child.get("/runs?limit=1")).body.total

  test("seals the large spans of a request that takes all its memory for bodies", async () => {
    const sending = inJson(manyValues())
    expect(sending.bytes.length).toBeLessThan(DOCUMENT_MAX_BYTES)
    expect(await send(child.url, sending)).toBe(200)
    expect(await total()).toBe(24)
  })

  test(`answers ${REQUESTS} requests at once`, async () => {
    const before = Number(await total())
    const made = Array.from({ length: REQUESTS }, (_, at): Sending => {
      if (at % 3 === 0) return inJson(manyValues())
      return at % 3 === 1 ? inJson(manyTexts()) : { type: "application/x-protobuf", bytes: EMPTY_SPANS }
    })
    const statuses = await Promise.all(made.map(sending => send(child.url, sending)))
    expect(statuses.filter(status => status !== 200 && status !== 503)).toEqual([])
    expect(statuses).toContain(200)
    expect(await total()).toBeGreaterThan(before)
    expect(await send(child.url, inJson(manyTexts()))).toBe(200)
  })
})
