/** Two hundred bodies of a mebibyte at once, made to take as much memory as they can, against a service with a small heap. */
import { Agent, request as httpRequest } from "node:http"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { BODY_MAX_BYTES } from "@runseal/api/endpoint"
import { countNodes, utf8Encode } from "@runseal/canonical"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { BODY_MAX_NODES } from "../../src/http/json-body.ts"
import { type Child, startChild } from "../harness/child.ts"
import { request } from "../harness/sample-requests.ts"

const folder = testFolder("runseal-small-heap")

const HEAP_MIB = 512
const BODIES = 200
/** What the flood may take where nothing else goes on is half a minute; a busy machine gets four. */
const FLOOD_DEADLINE_MS = 120_000
/**
 * Longest that a small request may wait meanwhile, in milliseconds. On two processors that the flood's sender shares it is some
 * 200, seldom 500; this is for a machine on which ten others compute.
 */
const SMALL_DEADLINE_MS = 30_000
const MEDIAN_DEADLINE_MS = 6_000
/** How much more heap may be in use when the flood is over, in bytes. */
const LEFT_BYTES = 64 * 1_048_576

const nested = `${"[".repeat(60)}${"]".repeat(60)}`
const HEAD = JSON.stringify(request()).slice(0, -1)

/** A body that is as full as it may be of what `unit` gives. */
function bodyOf(section: string, unit: (at: number) => string): string {
  const before = `${HEAD},${section}`
  const units: string[] = []
  let nodes = BODY_MAX_NODES - countNodes(utf8Encode(before))
  for (let size = before.length + 8, at = 0; ; at++) {
    const next = unit(at)
    size += next.length + 1
    nodes -= countNodes(utf8Encode(next)) + 1
    if (size > BODY_MAX_BYTES || nodes < 0) break
    units.push(next)
  }
  return `${before}${units.join(",")}${section.includes("[") ? "]" : ""}}}`
}

const SHAPES: readonly string[] = [
  bodyOf(`"causal_graph":{"x":[`, () => nested),
  bodyOf(`"authorization_chain":{"x":[`, () => `{"1000":1}`),
  bodyOf(`"authorization_chain":{"approvers":[`, () => `{"1000":1}`),
  bodyOf(`"reproducibility_context":{"x":[`, at => `{"${at.toString(36)}":1}`),
  bodyOf(`"reproducibility_context":{`, at => `"${at}":[1]`),
  bodyOf(`"causal_graph":{"effect_log":[`, () => `{"target":"€"}`),
  bodyOf(`"request_substance":{"post_processing":[`, () => "0.5"),
]

type Reply = { readonly status: number; readonly runId: number }

const agent = new Agent({ keepAlive: true, maxSockets: BODIES })
afterAll(() => agent.destroy())

const send = (url: string, body: string): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const bytes = Buffer.from(body)
    const headers = { "content-type": "application/json", "content-length": bytes.length }
    const sending = httpRequest(`${url}/execute`, { method: "POST", agent, headers }, response => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => (text += part))
      response.on("error", reject)
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, runId: Number(/"run_id":(\d+)/.exec(text)?.[1]) }),
      )
    })
    sending.on("error", reject)
    sending.end(bytes)
  })

describe(`a service with a heap of ${HEAP_MIB} MiB`, () => {
  let child: Child
  let metrics = ""
  beforeAll(async () => {
    const options = ["--data-dir", join(folder, "data"), "--metrics-port", "0", "--anonymous-rate-limit", "1000000"]
    child = await startChild(options, { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` })
    metrics = /"url":"([^"]+)","msg":"metrics"/.exec(child.stdout())?.[1] ?? ""
  })
  afterAll(async () => {
    expect((await child.end("SIGTERM")).code).toBe(0)
  })

  const heapUsed = async (): Promise<number> => {
    const text = await (await fetch(`${metrics}/metrics`)).text()
    return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1])
  }

  test(`answers ${BODIES} bodies at once, and others beside them`, { timeout: 4 * FLOOD_DEADLINE_MS }, async () => {
    const small = HEAD.concat("}")
    for (let i = 0; i < 20; i++) await send(child.url, small)
    const before = await heapUsed()

    const since = performance.now()
    let over = false
    const flood = Promise.all(
      Array.from({ length: BODIES }, (_, at) => send(child.url, SHAPES[at % SHAPES.length] ?? "")),
    ).finally(() => {
      over = true
    })
    const waits: number[] = []
    const acknowledged: number[] = []
    while (!over) {
      const start = performance.now()
      const { status, runId } = await send(child.url, small)
      expect(status, "a small request is served while large ones are not").toBe(200)
      waits.push(performance.now() - start)
      acknowledged.push(runId)
      await sleep(20)
    }
    const answers = await flood
    expect(performance.now() - since).toBeLessThan(FLOOD_DEADLINE_MS)
    waits.sort((a, b) => a - b)
    expect(waits.at(-1)).toBeLessThan(SMALL_DEADLINE_MS)
    expect(waits[waits.length >> 1]).toBeLessThan(MEDIAN_DEADLINE_MS)

    const statuses = new Set(answers.map(({ status }) => status))
    expect([...statuses].filter(status => ![200, 400, 503].includes(status))).toEqual([])
    expect(statuses.has(200), "some of them are sealed").toBe(true)
    acknowledged.push(...answers.filter(({ status }) => status === 200).map(({ runId }) => runId))
    for (const id of acknowledged) expect((await child.get(`/runs/${id}/verify`)).body.verified).toBe(true)
    expect((await child.get("/runs?limit=1")).body.total, "what was refused left no record").toBe(
      20 + acknowledged.length,
    )

    // Garbage stays until the engine collects it, which it does while it works.
    for (let i = 0; i < 500 && (await heapUsed()) > before + LEFT_BYTES; i++) await send(child.url, small)
    expect(await heapUsed()).toBeLessThan(before + LEFT_BYTES)
  })
})
