/** Spans of OpenTelemetry, sent by its own exporters to a real server: docs/doors/opentelemetry.md. */
import { execFileSync, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { type Attributes, SpanStatusCode } from "@opentelemetry/api"
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { OTLPTraceExporter as ProtoExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { NOT_EXPANDED } from "@runseal/core/presentation/saved-text"
import { SPANS_MAX } from "@runseal/otlp/otlp-app"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, startChild } from "../harness/child.ts"
import { expectSealed } from "../harness/door-table.ts"
import { at, listAt, numberAt, objectAt, textAt } from "../harness/read-answer.ts"
import { EICAR } from "../harness/sample-requests.ts"
import { exportSpans } from "./sent-spans.ts"

const folder = testFolder("runseal-otlp")
let child: Child
beforeAll(async () => {
  child = await startChild(["--data-dir", folder])
})
afterAll(async () => {
  await child.end("SIGTERM")
})

const total = async (query = ""): Promise<number> => numberAt((await child.get(`/runs/search?${query}`)).body, "total")
const CHAT: Attributes = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "example",
  "gen_ai.request.model": "model-1",
  "gen_ai.usage.input_tokens": 30,
  "gen_ai.usage.output_tokens": 12,
}
const TOOL: Attributes = {
  "gen_ai.operation.name": "execute_tool",
  "gen_ai.tool.name": "send_mail",
  "gen_ai.tool.call.arguments": EICAR,
}

describe.each([
  ["protobuf", (url: string) => new ProtoExporter({ url })],
  ["JSON", (url: string) => new JsonExporter({ url })],
  ["protobuf with gzip", (url: string) => new ProtoExporter({ url, compression: "gzip" as never })],
])("the exporter of JavaScript in %s", (_, exporter) => {
  test("makes one observed run of each GenAI span, and none of the others", async () => {
    const before = await total()
    const spans = [
      { name: "chat model-1", attributes: CHAT },
      { name: "execute_tool send_mail", attributes: TOOL, status: SpanStatusCode.ERROR },
      { name: "GET /", attributes: { "http.request.method": "GET" } },
    ]
    const sent = await exportSpans(exporter(`${child.url}/v1/traces`), spans)
    expect(sent.error).toBeUndefined()
    expect(await total()).toBe(before + 2)
    const { body } = await child.get("/runs?limit=2")
    const runs = listAt(body, "runs").toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    expect(new Set(runs.map(run => objectAt(run).enforcement))).toEqual(new Set(["observe"]))
    expect(new Set(runs.map(run => `${objectAt(run).route_id} ${objectAt(run).outcome_kind}`))).toEqual(
      new Set(["otlp/chat/model-1 ok", "otlp/execute_tool/send_mail pepg_deny"]),
    )
    // Sent again, as an exporter does that got no answer.
    expect((await sent.again()).error).toBeUndefined()
    expect(await total()).toBe(before + 2)
  })
})

test("a span is sealed as the table of all doors says", async () => {
  const agent: Attributes = { "gen_ai.agent.name": "traced-agent" }
  const spans = [
    { name: "chat", attributes: { ...CHAT, ...agent } },
    { name: "tool", attributes: { ...TOOL, "gen_ai.tool.call.arguments": "{}", ...agent } },
  ]
  expect((await exportSpans(new ProtoExporter({ url: `${child.url}/v1/traces` }), spans)).error).toBeUndefined()
  const runs = listAt((await child.get("/runs/search?actor_id=traced-agent")).body, "runs")
  expect(runs).toHaveLength(2)
  const cost = { input_tokens: 30, output_tokens: 12, total_tokens: 42 }
  const values = { actor_id: "traced-agent", model_name: "model-1", model_provider: "example", cost }
  for (const run of runs) {
    const [id, route_id] = [numberAt(run, "id"), textAt(run, "route_id")]
    const sections = objectAt((await child.get(`/runs/${id}/artifacts`)).body, "sections")
    const facts = { route_id, names: { model: "model-1", tool: "send_mail" }, values }
    if (route_id.includes("chat"))
      for (const kind of ["a model", "a stream of a model"]) expectSealed(sections, kind, "OpenTelemetry", facts)
    else expectSealed(sections, "a tool", "OpenTelemetry", facts)
  }
})

describe("spans of other conventions are sealed as those of GenAI", () => {
  const cost = { input_tokens: 30, output_tokens: 12, total_tokens: 42 }
  const MODEL = { route: "otlp/chat/model-1", cost, provider: "example", effects: undefined }
  const CALL = { route: "otlp/execute_tool/send_mail", cost: undefined, provider: undefined, effects: "send_mail" }
  test.each<[string, Attributes, typeof MODEL | typeof CALL]>([
    [
      "OpenInference, a model",
      {
        "openinference.span.kind": "LLM",
        "llm.model_name": "model-1",
        "llm.provider": "example",
        "llm.token_count.prompt": 30,
        "llm.token_count.completion": 12,
        "llm.token_count.total": 42,
        "input.value": "hello",
        "output.value": "good day",
      },
      MODEL,
    ],
    [
      "OpenInference, a tool",
      {
        "openinference.span.kind": "TOOL",
        "tool.name": "send_mail",
        "input.value": "hello",
        "output.value": "good day",
      },
      CALL,
    ],
    [
      "OpenLLMetry, a model, with its counts as texts",
      {
        "llm.request.type": "chat",
        "gen_ai.system": "example",
        "gen_ai.request.model": "model-1",
        "gen_ai.usage.prompt_tokens": "30",
        "gen_ai.usage.completion_tokens": "12",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "hello",
        "gen_ai.completion.0.content": "good day",
      },
      MODEL,
    ],
    [
      "OpenLLMetry, a tool",
      {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "send_mail",
        "traceloop.entity.input": "hello",
        "traceloop.entity.output": "good day",
      },
      CALL,
    ],
    [
      "the AI SDK, a model",
      {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "model-1",
        "ai.model.provider": "example",
        "ai.usage.promptTokens": 30,
        "ai.usage.completionTokens": 12,
        "ai.prompt.messages": "hello",
        "ai.response.text": "good day",
      },
      MODEL,
    ],
    [
      "the AI SDK, a tool",
      {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "send_mail",
        "ai.toolCall.args": "hello",
        "ai.toolCall.result": "good day",
      },
      CALL,
    ],
  ])("%s", async (_, attributes, { route, cost, provider, effects }) => {
    const before = await total()
    await exportSpans(new ProtoExporter({ url: `${child.url}/v1/traces` }), [
      { name: "outer", attributes: { "openinference.span.kind": "AGENT", "traceloop.span.kind": "workflow" } },
      { name: "span", attributes },
    ])
    expect(await total()).toBe(before + 1)
    const newest = objectAt((await child.get("/runs?limit=1")).body, "runs", 0)
    expect(newest.route_id).toBe(route)
    const { sections } = (await child.get(`/runs/${newest.id}/artifacts`)).body
    expect(at(sections, "request_substance", "declared", "cost")).toEqual(cost)
    expect(at(sections, "attested_context", "declared", "model_provider")).toEqual(provider)
    expect(at(sections, "causal_graph", "declared", "effect_log", 0, "target")).toEqual(effects)
    expect(at(sections, "payload", "ai_output_hash")).toMatch(/^[0-9a-f]{64}$/)
  })

  test("one that none of them places is named, and nothing is rejected or sent again", async () => {
    const before = await total()
    const { error } = await exportSpans(new JsonExporter({ url: `${child.url}/v1/traces` }), [
      { name: "span", attributes: { "llm.vendor": "example" } },
    ])
    expect(error).toBeUndefined()
    const spans = [
      {
        traceId: "a".repeat(32),
        spanId: "b".repeat(16),
        attributes: [{ key: "llm.vendor", value: { stringValue: "x" } }],
      },
    ]
    const { status, body } = await child.post("/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] })
    expect({ status, rejected: at(body, "partialSuccess", "rejectedSpans") }).toEqual({ status: 200, rejected: "0" })
    expect(at(body, "partialSuccess", "errorMessage")).toMatch(/^1 spans are not sealed/)
    expect(await total()).toBe(before)
  })
})

test.each(["gzip", "zstd", "deflate"] as const)("a body that is compressed with %s is read", async coding => {
  const before = await total()
  const attributes = [{ key: "gen_ai.operation.name", value: { stringValue: "chat" } }]
  const spans = [{ traceId: "c".repeat(32), spanId: randomBytes(8).toString("hex"), attributes }]
  const text = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
  const pack = { gzip: gzipSync, zstd: zstdCompressSync, deflate: deflateSync }[coding]
  const response = await fetch(`${child.url}/v1/traces`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Content-Encoding": coding },
    body: new Uint8Array(pack(text)),
  })
  expect(response.status).toBe(200)
  expect(await total()).toBe(before + 1)
})

test("JSON with names in snake_case is refused, and the answer names them", async () => {
  const { status, body } = await child.post("/v1/traces", { resource_spans: [] })
  expect({ status, error: body.error }).toEqual({ status: 400, error: expect.stringContaining("resource_spans") })
})

test("what a model cost and which tool failed is in the record", async () => {
  const { body } = await child.get("/runs/search?route_id=otlp/chat/model-1&limit=1")
  const id = numberAt(body, "runs", 0, "id")
  const { body: bundle } = await child.get(`/runs/${id}/artifacts`)
  const { request_substance, attested_context } = objectAt(bundle, "sections")
  expect(objectAt(request_substance, "declared", "cost")).toEqual({
    input_tokens: 30,
    output_tokens: 12,
    total_tokens: 42,
  })
  expect(objectAt(attested_context, "declared")).toMatchObject({ model_provider: "example", model_name: "model-1" })
})

const JSON_TYPE = { "Content-Type": "application/json" }
const send = (body: BodyInit, headers: Readonly<Record<string, string>>) =>
  fetch(`${child.url}/v1/traces`, { method: "POST", body, headers })

let made = 0
/** A span of a model in JSON, under ids that no other has. */
function chatSpan(attributes: Readonly<Record<string, JsonValue>> = {}): JsonObject {
  made++
  const all = { "gen_ai.operation.name": { stringValue: "chat" }, ...attributes }
  return {
    traceId: made.toString(16).padStart(32, "a"),
    spanId: made.toString(16).padStart(16, "b"),
    name: "chat model-3",
    attributes: Object.entries(all).map(([key, value]) => ({ key, value })),
  }
}
const TIMES = { startTimeUnixNano: "1544712660123456789", endTimeUnixNano: "1544712661123456789" }
const bodyOf = (spans: readonly JsonValue[]): string => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
/** Sends spans in one request. */
async function sendSpans(spans: readonly JsonValue[]): Promise<{ readonly status: number; readonly body: JsonValue }> {
  const response = await send(bodyOf(spans), JSON_TYPE)
  return { status: response.status, body: parseStrictJson(await response.text()) }
}
const REFUSED = { rejectedSpans: "1", errorMessage: expect.stringMatching(/\.$/) }

describe("one span of a request that can never be sealed is rejected, and the others are sealed", () => {
  test.each<[string, (sealed: JsonObject) => JsonValue]>([
    ["a span under the ids of another", sealed => ({ ...sealed, name: "chat of another" })],
    [
      "a span whose tokens together are more than 2^53 − 1",
      () =>
        chatSpan({
          "gen_ai.usage.input_tokens": { intValue: `${Number.MAX_SAFE_INTEGER}` },
          "gen_ai.usage.output_tokens": { intValue: "1" },
        }),
    ],
    [
      "a span with a count of tokens that no number of JSON carries",
      () => chatSpan({ "gen_ai.usage.input_tokens": { intValue: `${Number.MAX_SAFE_INTEGER}0` } }),
    ],
  ])("%s", async (_, wrong) => {
    const first = chatSpan()
    expect(await sendSpans([first])).toEqual({ status: 200, body: {} })
    const before = await total()
    const others = Array.from({ length: 40 }, () => chatSpan())
    const answer = await sendSpans([wrong(first), ...others])
    expect(answer).toEqual({ status: 200, body: { partialSuccess: REFUSED } })
    expect(await total()).toBe(before + others.length)
  })
})

test("the name of a service, which is in the run of each of its spans, has a bound", async () => {
  const before = await total()
  const named = (length: number): string =>
    JSON.stringify({
      resourceSpans: [
        {
          resource: { attributes: [{ key: "service.name", value: { stringValue: "s".repeat(length) } }] },
          scopeSpans: [{ spans: [chatSpan()] }],
        },
      ],
    })
  expect(await (await send(named(1_024), JSON_TYPE)).json()).toEqual({})
  expect(await (await send(named(1_025), JSON_TYPE)).json()).toEqual({ partialSuccess: REFUSED })
  expect(await total()).toBe(before + 1)
})

describe("what strict JSON does not carry loses no span", () => {
  const half = "\ud83d"
  test("half a character in a name, a key or a value", async () => {
    const before = await total()
    const args = { kvlistValue: { values: [{ key: half, value: { stringValue: half } }] } }
    const spans = [
      { ...chatSpan(), name: `chat ${half}` },
      chatSpan({ "gen_ai.input.messages": args }),
      chatSpan({ [half]: { stringValue: "1" } }),
    ]
    expect(await sendSpans(spans)).toEqual({ status: 200, body: {} })
    expect(await total()).toBe(before + 3)
    const { body } = await child.get("/runs/search?route_id=otlp/chat/chat%20%EF%BF%BD")
    expect(numberAt(body, "total")).toBe(1)
  })

  test("times and integers of 64 bits that are written as numbers, and bytes that are no UTF-8", async () => {
    const before = await total()
    const wide = { intValue: "9007199254740993" }
    const span = { ...chatSpan({ "example.id": wide, "gen_ai.input.messages": { stringValue: "cut?" } }), ...TIMES }
    const text = bodyOf([span, chatSpan()]).replaceAll(/"(\d{16,})"/g, (_, digits) => `${digits}`)
    expect(text).toContain('"intValue":9007199254740993')
    const bytes = Buffer.from(text)
    bytes[bytes.indexOf("cut?") + 3] = 0xe2
    expect((await send(bytes, JSON_TYPE)).status).toBe(200)
    expect(await total()).toBe(before + 2)
  })

  test("a text of protobuf that was cut within a character", async () => {
    const before = await total()
    const field = (number: number, ...bytes: readonly number[]) => [(number << 3) | 2, bytes.length, ...bytes]
    const text = (value: string) => [...Buffer.from(value)]
    const attribute = (key: string, value: readonly number[]) =>
      field(9, ...field(1, ...text(key)), ...field(2, ...field(1, ...value)))
    const ids = (last: number) => [...field(1, ...Array(15).fill(7), last), ...field(2, ...Array(7).fill(7), last)]
    const spans = [[...text("whole")], [...text("cut "), 0xe2, 0x82]].map((value, i) =>
      field(
        2,
        ...ids(i),
        ...field(5, ...value),
        ...attribute("gen_ai.operation.name", text("chat")),
        ...attribute("gen_ai.input.messages", value),
      ),
    )
    // A length of more than 127 takes two bytes.
    const long = (number: number, bytes: readonly number[]) => [
      (number << 3) | 2,
      (bytes.length & 127) | 128,
      bytes.length >> 7,
      ...bytes,
    ]
    const body = Uint8Array.from(long(1, long(2, spans.flat())))
    expect((await send(body, { "Content-Type": "application/x-protobuf" })).status).toBe(200)
    expect(await total()).toBe(before + 2)
  })
})

describe("a span that is there twice", () => {
  test("in one request is sealed once", async () => {
    const before = await total()
    const span = chatSpan()
    expect(await sendSpans([span, chatSpan(), span])).toEqual({ status: 200, body: {} })
    expect(await total()).toBe(before + 2)
  })

  test("in one request with other attributes is rejected the second time", async () => {
    const before = await total()
    const span = chatSpan()
    const answer = await sendSpans([span, { ...span, name: "chat of another" }])
    expect(answer).toEqual({ status: 200, body: { partialSuccess: REFUSED } })
    expect(await total()).toBe(before + 1)
  })

  test("in requests at the same time is sealed once, and at most the exporter has to send it again", async () => {
    const before = await total()
    const span = chatSpan()
    const sent = await Promise.all(Array.from({ length: 8 }, () => send(bodyOf([span]), JSON_TYPE)))
    for (const response of sent) {
      if (response.status === 200) continue
      expect(response.status).toBe(503)
      expect(response.headers.get("retry-after")).toMatch(/^\d+$/)
    }
    expect(sent.some(({ status }) => status === 200)).toBe(true)
    expect(await sendSpans([span])).toEqual({ status: 200, body: {} })
    expect(await total()).toBe(before + 1)
  })
})

describe("a request", () => {
  test("with a span that cannot be read is taken in part", async () => {
    const spans = [{ traceId: "00", spanId: "00", name: "x" }]
    const response = await send(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }), JSON_TYPE)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ partialSuccess: { rejectedSpans: "1" } })
  })

  test("of nearly four mebibytes is sealed in protobuf as in JSON", async () => {
    const before = await total()
    const contents = { ...CHAT, "gen_ai.input.messages": "some words ".repeat(9_000) }
    const spans = Array.from({ length: 40 }, () => ({ name: "chat model-1", attributes: contents }))
    for (const exporter of [
      new ProtoExporter({ url: `${child.url}/v1/traces` }),
      new JsonExporter({ url: `${child.url}/v1/traces` }),
    ])
      expect((await exportSpans(exporter, spans)).error).toBeUndefined()
    expect(await total()).toBe(before + 2 * spans.length)
  })

  test("holds any number of spans that are no GenAI spans, and a bound of those that are", async () => {
    const before = await total()
    const other = { traceId: "c".repeat(32), spanId: "d".repeat(16), name: "GET /" }
    expect(await sendSpans([...Array.from({ length: 8192 }, () => other), chatSpan()])).toEqual({
      status: 200,
      body: {},
    })
    expect(await total()).toBe(before + 1)
    expect((await sendSpans(Array.from({ length: SPANS_MAX + 1 }, () => chatSpan()))).status).toBe(400)
    expect(await total()).toBe(before + 1)
  })

  test("that is no request of OTLP is refused", async () => {
    expect((await send("[]", JSON_TYPE)).status).toBe(400)
    expect((await send(Uint8Array.of(0xff, 0xff), { "Content-Type": "application/x-protobuf" })).status).toBe(400)
    expect((await send("x", { "Content-Type": "text/plain" })).status).toBe(400)
    expect((await send("x", { ...JSON_TYPE, "Content-Encoding": "gzip" })).status).toBe(400)
  })

  test("that is compressed and cut off, empty or followed by anything is refused", async () => {
    const packed = gzipSync('{"resourceSpans":[]}')
    const inGzip = { ...JSON_TYPE, "Content-Encoding": "gzip" }
    expect((await send(new Uint8Array(packed), inGzip)).status).toBe(200)
    for (const bytes of [
      packed.subarray(0, -3),
      Buffer.alloc(0),
      Buffer.concat([packed, Buffer.alloc(2)]),
      Buffer.concat([packed, Buffer.from("junk")]),
      Buffer.concat([packed, packed.subarray(0, 12)]),
    ]) {
      const answer = await send(new Uint8Array(bytes), inGzip)
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ error: `The body ${NOT_EXPANDED}.` })
    }
  })

  test("that unpacks to more than is allowed is refused", async () => {
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(8 * 1024 * 1024, 0x20)))
    expect((await send(bomb, { ...JSON_TYPE, "Content-Encoding": "gzip" })).status).toBe(413)
  })
})

const PYTHON = process.env.RUNSEAL_PYTHON ?? "python3"
const hasExporter =
  spawnSync(PYTHON, ["-c", "import opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http"]).status === 0

test.skipIf(!hasExporter)(
  `the exporter of Python makes an observed run (needs a Python with opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http, named by RUNSEAL_PYTHON)`,
  async () => {
    const before = await total("enforcement=observe")
    execFileSync(PYTHON, ["-c", IN_PYTHON, `${child.url}/v1/traces`])
    expect(await total("enforcement=observe")).toBe(before + 1)
  },
)

const IN_PYTHON = `
import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=sys.argv[1])))
with provider.get_tracer("test").start_as_current_span("chat model-2") as span:
    span.set_attribute("gen_ai.operation.name", "chat")
    span.set_attribute("gen_ai.request.model", "model-2")
provider.shutdown()
`
