/** Metrics for Prometheus, on a port of their own. */
import { join } from "node:path"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, startChild } from "../harness/child.ts"
import { EICAR, PROGRAM_ID, request } from "../harness/sample-requests.ts"

const folder = testFolder("runseal-metrics")

const CANARY = "canary-9d21-not-in-a-metric"
const BASE_URL = "https://attest.example"
/** What the test asks before it meets this limit. */
const RATE_LIMIT = 12

describe("with --metrics-port", () => {
  let child: Child
  let url = ""
  let before = ""
  let after = ""

  const scrape = async (): Promise<string> => (await fetch(`${url}/metrics`)).text()
  /** The value of a series, written as Prometheus writes it. */
  const value = (text: string, series: string): number => {
    const line = text.split("\n").find(one => one.startsWith(`${series} `))
    if (line === undefined) throw new Error(`no series ${series}`)
    return Number(line.slice(series.length + 1))
  }

  beforeAll(async () => {
    const options = ["--metrics-port", "0", "--rate-limit", `${RATE_LIMIT}`, "--base-url", BASE_URL]
    child = await startChild(["--data-dir", join(folder, "data"), ...options])
    url = /"url":"([^"]+)","msg":"metrics"/.exec(child.stdout())?.[1] ?? ""
    before = await scrape()
    await child.post("/execute", request())
    await child.post("/execute", request({ payload: EICAR }))
    await child.post("/execute", request({ route_id: CANARY }))
    await child.post("/execute", { program_id: CANARY })
    await child.post("/attest", { digest: PROGRAM_ID, algorithm: "sha256", subject_ref: CANARY })
    await child.get(`/runs/search?route_id=${CANARY}`)
    await child.get(`/runs/${CANARY}`)
    await child.get(`/${CANARY}`)
    for (let asked = 0; asked < RATE_LIMIT; asked++) await child.get("/runs")
    after = await scrape()
  })
  afterAll(async () => {
    expect((await child.end("SIGTERM")).code).toBe(0)
    await expect(fetch(`${url}/metrics`), "the port is closed with the service").rejects.toThrow()
  })

  test("every outcome and limit is there before it happens", () => {
    for (const outcome of OUTCOME_KINDS) expect(value(before, `runseal_runs_total{outcome="${outcome}"}`)).toBe(0)
    for (const limit of ["shared", "attest", "trial"])
      expect(value(before, `runseal_limit_refusals_total{limit="${limit}"}`)).toBe(0)
  })

  test("runs are counted by outcome, attestations beside them", () => {
    expect(value(after, 'runseal_runs_total{outcome="ok"}')).toBe(2)
    expect(value(after, 'runseal_runs_total{outcome="pepg_deny"}')).toBe(1)
    expect(value(after, "runseal_attestations_total")).toBe(1)
  })

  test("sealing is timed, batches are measured, the queue and the log have a size", () => {
    expect(value(after, "runseal_sealing_seconds_count")).toBe(4)
    expect(value(after, "runseal_sealing_seconds_sum")).toBeGreaterThan(0)
    expect(value(after, "runseal_batch_records_sum")).toBe(4)
    expect(value(after, "runseal_log_lock_seconds_count")).toBe(4)
    expect(value(after, "runseal_log_lock_seconds_sum")).toBeGreaterThan(0)
    expect(value(after, "runseal_batch_failures_total")).toBe(0)
    expect(value(after, "runseal_sealing_queue_records")).toBe(0)
    expect(value(after, "runseal_log_entries")).toBeGreaterThanOrEqual(1)
    expect(value(after, "runseal_ready")).toBe(1)
  })

  test("refusals are counted by limit", () => {
    const refused = value(after, 'runseal_limit_refusals_total{limit="shared"}')
    expect(refused).toBeGreaterThan(0)
    const refusedAnswers = after.split("\n").filter(line => line.includes('status="4xx"'))
    expect(refusedAnswers.length).toBeGreaterThan(2)
  })

  test("answers are counted by registered route and class of status, other paths as one", () => {
    const answers = (method: string, route: string, status: string): number =>
      value(after, `runseal_http_answers_total{method="${method}",route="${route}",status="${status}"}`)
    expect(answers("POST", "/execute", "2xx")).toBe(2)
    expect(answers("POST", "/execute", "4xx")).toBe(2)
    expect(answers("POST", "/attest", "2xx")).toBe(1)
    expect(answers("GET", "/runs/search", "2xx")).toBe(1)
    expect(answers("GET", "/runs/:id", "4xx")).toBe(1)
    expect(answers("other", "other", "4xx")).toBe(1)
    const refused = value(after, 'runseal_limit_refusals_total{limit="shared"}')
    expect(answers("GET", "/runs", "2xx") + refused).toBe(RATE_LIMIT)
  })

  test("nothing a caller sent is in a metric", () => {
    expect(after).not.toContain(CANARY)
    expect(after).not.toContain(PROGRAM_ID)
  })

  test("the process itself is measured", () => {
    expect(value(after, "process_resident_memory_bytes")).toBeGreaterThan(1e6)
    expect(after).toContain("nodejs_eventloop_lag_seconds")
  })

  test("the port has nothing else, and the callers' port has no metrics", async () => {
    for (const path of ["/", "/health", "/runs"]) expect((await fetch(`${url}${path}`)).status).toBe(404)
    const posted = await fetch(`${url}/metrics`, { method: "POST" })
    expect({ status: posted.status, allow: posted.headers.get("allow") }).toEqual({ status: 405, allow: "GET, HEAD" })
    const refused = await fetch(`${url}/nothing`)
    const request_id = refused.headers.get("x-request-id")
    expect(await refused.json()).toMatchObject({ ok: false, code: "endpoint_not_found", request_id })
    expect(refused.headers.get("link")).toBe(`<${BASE_URL}/docs>; rel="help"`)
    expect((await fetch(`${url}/metrics`)).headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/)
    expect((await fetch(`${child.url}/metrics`)).status).toBe(429)
  })
})
