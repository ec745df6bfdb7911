/** Traces of the service itself, exported to a collector by OTLP. docs/operations.md, "Traces". */
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { STAGES } from "@runseal/core/vocabulary/outcomes"
import { formatVkey, noteKey } from "@runseal/log/notes/signed-note"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, startChild } from "../harness/child.ts"
import { startReceiver } from "../harness/event-receiver.ts"
import { type CollectedSpan, type Collector, startCollector } from "../harness/otlp-collector.ts"
import { numberAt, textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"

const folder = testFolder("runseal-traces")

const QUICK = { OTEL_BSP_SCHEDULE_DELAY: "50", OTEL_EXPORTER_OTLP_TIMEOUT: "1000" }
const ADMIN = { name: "ops", scope: "admin", confirm_admin_scope: true }
const CANARY = "canary-4f7e-not-in-a-span"
const COLLECTOR_SECRET = "collector-secret-81b2"
const CALLER = { trace: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331" }
/** Nobody listens there. */
const DOWN = "http://127.0.0.1:1/"

const metricsUrlOf = (server: Child): string => /"url":"([^"]+)","msg":"metrics"/.exec(server.stdout())?.[1] ?? ""
async function ownSpans(server: Child, fate: string): Promise<number> {
  const text = await (await fetch(`${metricsUrlOf(server)}/metrics`)).text()
  return Number(new RegExp(`^runseal_own_spans_total\\{fate="${fate}"\\} (\\d+)$`, "m").exec(text)?.[1])
}

describe("with a collector", () => {
  let collector: Collector
  let server: Child
  let run_id = 0
  let keySecret = ""
  let receiver: Awaited<ReturnType<typeof startReceiver>>

  const named = (name: string): readonly CollectedSpan[] => collector.spans().filter(span => span.name === name)
  const untilNamed = (name: string, traceId?: string): Promise<CollectedSpan> =>
    until(`a span ${name} is there`, () =>
      named(name).find(({ trace_id }) => traceId === undefined || trace_id === traceId),
    )

  beforeAll(async () => {
    ;[collector, receiver] = [await startCollector(), await startReceiver()]
    const witness = formatVkey(noteKey("down.example", "cosignature/v1", new Uint8Array(32).fill(9)))
    server = await startChild(
      [
        ...["--data-dir", join(folder, "data"), "--metrics-port", "0", "--delivery-network", "127.0.0.1"],
        ...["--witness", `${witness}=${DOWN}`],
      ],
      {
        ...QUICK,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${COLLECTOR_SECRET}`,
        OTEL_SERVICE_NAME: "attestation",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      },
    )
    keySecret = textAt((await server.post("/admin/keys", ADMIN)).body, "secret")
    const key = { "x-service-key": keySecret }
    await server.post("/admin/destinations", { url: receiver.url }, key)
    const traceparent = `00-${CALLER.trace}-${CALLER.span}-01`
    const named = { route_id: CANARY, payload: CANARY }
    const traced = { ...key, traceparent, tracestate: `vendor=${CANARY}`, "user-agent": CANARY }
    const answer = await server.post(`/execute`, request(named), traced)
    run_id = numberAt(answer.body, "run_id")
    await server.post("/execute", request({ payload: EICAR }), key)
    await until("the first event is delivered", () => receiver.taken().length > 0)
    await untilNamed("deliver")
  })
  afterAll(async () => {
    expect((await server.end("SIGTERM")).code).toBe(0)
    await receiver.close()
    await collector.close()
  })

  test("the request continues the trace of its caller, by the semantic conventions of HTTP", async () => {
    const span = await untilNamed("POST /execute", CALLER.trace)
    expect(span).toMatchObject({ parent_id: CALLER.span, kind: 2, status: 0 })
    expect(span.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/execute",
      "http.response.status_code": 200,
    })
    expect(span.resource).toMatchObject({
      "service.name": "attestation",
      "service.version": "1.0.0",
      "deployment.environment.name": "test",
    })
  })

  test("a run has its nine stages in the trace of its request, with its number and its outcome", async () => {
    const whole = await untilNamed("POST /execute", CALLER.trace)
    const run = await untilNamed("execute", CALLER.trace)
    expect(run.parent_id).toBe(whole.span_id)
    expect(run.attributes).toEqual({ "runseal.run_id": run_id, "runseal.outcome": "ok" })
    for (const stage of STAGES)
      expect(await untilNamed(stage, CALLER.trace), stage).toMatchObject({ parent_id: run.span_id, attributes: {} })
    expect(await untilNamed("review", CALLER.trace)).toMatchObject({ parent_id: run.span_id })
  })

  test("a refused run says its outcome, and is no failure", async () => {
    const refused = await until("the refused run is there", () =>
      named("execute").find(({ attributes }) => attributes["runseal.outcome"] === "pepg_deny"),
    )
    expect(refused.status).toBe(0)
  })

  test("a batch is a trace of its own, linked to what it seals", async () => {
    const seal = await untilNamed("seal", CALLER.trace)
    const batch = await until("its batch is there", () =>
      named("batch").find(({ links }) => links.includes(seal.span_id)),
    )
    expect(batch).toMatchObject({ parent_id: "", attributes: { "runseal.items": 1 } })
    expect(batch.trace_id).not.toBe(CALLER.trace)
  })

  test("deliveries and witnesses are traces of their own, and say what failed", async () => {
    expect(await untilNamed("deliver")).toMatchObject({ parent_id: "", attributes: { "runseal.destination": 1 } })
    expect(await untilNamed("cosign")).toMatchObject({
      parent_id: "",
      status: 2,
      attributes: { "runseal.witness": "down.example", "runseal.fault": "unreachable", "error.type": "unreachable" },
    })
  })

  test("no text of a caller, no key and no secret is sent", () => {
    const sent = collector.bytes().toString("latin1")
    for (const secret of [CANARY, keySecret, COLLECTOR_SECRET]) expect(sent).not.toContain(secret)
    expect(collector.spans().map(({ status_message }) => status_message)).toEqual(collector.spans().map(() => ""))
    expect(new Set(collector.headers().map(headers => headers["x-collector-key"]))).toEqual(new Set([COLLECTOR_SECRET]))
  })

  test("a request that asks whether the service is there makes no span", async () => {
    await server.get("/health")
    await server.get("/ready")
    await server.get("/version")
    await untilNamed("GET /version")
    expect(collector.spans().filter(({ name }) => /health|ready/.test(name))).toEqual([])
  })

  test("a collector that takes none and then takes them again is said once, and what is lost is counted", async () => {
    // On a slow machine an export before this one may have taken too long.
    const lines = (words: string): number => server.stdout().split(words).length - 1
    await until("spans are taken", async () => {
      await server.get("/version")
      return lines("takes spans again") === lines("takes no spans")
    })
    const [reports, lost] = [lines("takes no spans"), await ownSpans(server, "failed")]
    collector.answer(400)
    await server.get("/version")
    await until("spans are lost", async () => (await ownSpans(server, "failed")) > lost)
    collector.answer(200)
    await server.get("/version")
    await until("spans are taken again", () => lines("takes spans again") > reports)
    expect(lines("takes no spans")).toBe(reports + 1)
    expect(server.stdout()).not.toContain(COLLECTOR_SECRET)
  })
})

test("a collector that is down changes no answer, and the service stops as it does without", async () => {
  const server = await startChild(["--data-dir", join(folder, "down"), "--metrics-port", "0"], {
    ...QUICK,
    OTEL_EXPORTER_OTLP_ENDPOINT: DOWN,
  })
  for (let run = 0; run < 5; run++) expect((await server.post("/execute", request())).status).toBe(200)
  await until("spans are lost", async () => (await ownSpans(server, "failed")) > 0)
  expect((await server.get("/ready")).status).toBe(200)
  const { code, stdout } = await server.end("SIGTERM")
  expect(code).toBe(0)
  expect(stdout).toContain("the collector of traces takes no spans")
  expect(stdout).not.toContain("ECONNREFUSED")
})

test("a collector that hangs fills a queue with an end, and what is dropped is counted", async () => {
  const collector = await startCollector()
  collector.answer(0)
  const server = await startChild(["--data-dir", join(folder, "hangs"), "--metrics-port", "0"], {
    ...QUICK,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_BSP_MAX_QUEUE_SIZE: "8",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "4",
  })
  for (let run = 0; run < 5; run++) expect((await server.post("/execute", request())).status).toBe(200)
  await until("spans are dropped", async () => (await ownSpans(server, "dropped")) > 0)
  expect((await server.end("SIGTERM")).code).toBe(0)
  await collector.close()
})

test("a service that exports to itself by mistake does not go round", async () => {
  const port = await freePort()
  const server = await startChild(["--data-dir", join(folder, "itself"), "--port", `${port}`, "--metrics-port", "0"], {
    ...QUICK,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  })
  await server.post("/execute", request())
  await until("spans are exported", async () => (await ownSpans(server, "exported")) > 0)
  await server.get("/version")
  // Spans of one request may leave in two batches. A service that went round would export more in every interval.
  let before = 0
  await until("an interval of many batches exports nothing", async () => {
    ;[before] = [await ownSpans(server, "exported"), await new Promise(done => setTimeout(done, 500))]
    return (await ownSpans(server, "exported")) === before
  })
  await server.end("SIGTERM")
})

test("without an address no package that makes or exports spans is loaded", async () => {
  const list = join(folder, "loaded")
  const note = `load: (url, context, next) => (appendFileSync(${JSON.stringify(list)}, url + "\\n"), next(url, context))`
  const hook = `import{registerHooks}from"node:module";import{appendFileSync}from"node:fs";registerHooks({${note}})`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
  const server = await startChild(["--data-dir", join(folder, "off")], env)
  expect((await server.post("/execute", request())).status).toBe(200)
  expect((await server.end("SIGTERM")).code).toBe(0)
  const loaded = readFileSync(list, "utf8").split("\n")
  expect(loaded.filter(url => /apps\/server\/(?:dist\/bundle\/main\.js|src\/main\.ts)$/.test(url)).length).toBe(1)
  // The client of Prometheus loads the package of the API, which does nothing by itself.
  expect(loaded.filter(url => /@opentelemetry\/(?!api\/)|server\/src\/traces\//.test(url))).toEqual([])
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(done => void server.listen(0, "127.0.0.1", done))
  const address = server.address()
  await new Promise(done => void server.close(done))
  if (address === null || typeof address === "string") throw new Error("a listening server has a port")
  return address.port
}
