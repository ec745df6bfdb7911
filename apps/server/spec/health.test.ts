import { expect, test } from "vitest"
import { expectRefused } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()

test("GET /health answers 200 with exactly the specified members", async () => {
  const { status, body } = await service().get("/health")
  expect(status).toBe(200)
  expect(body).toEqual({
    ok: true,
    service: "runseal",
    version: "1.0.0",
    orchestrator_version: "1.0.0",
    orchestrator_git_sha: expect.stringMatching(/^([0-9a-f]{40}|unknown)$/),
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  })
})

test("the time of /health is the service's clock", async () => {
  const before = service().clock.nowMs()
  const { body } = await service().get("/health")
  const time = Date.parse(String(body.time))
  expect(time).toBeGreaterThanOrEqual(before)
  expect(time).toBeLessThanOrEqual(service().clock.nowMs())
})

test("GET /version names engine, formula and log beside the health members", async () => {
  const { status, body } = await service().get("/version")
  expect(status).toBe(200)
  expect(body).toMatchObject({ ok: true, service: "runseal", version: "1.0.0", formula_version: "manifest.v1" })
  expect(body.engine_version).toMatch(/^runseal-verify-\d+\.\d+\.\d+$/)
  expect(body.log_origin).toMatch(/^runseal\.local - [1-9]\d*$/)
})

test.each(["/nothing", "/runs/1/nothing", "/log/", "/.well-known/", "/admin", "/runs/1/../../x"])(
  "an unknown endpoint is a 404 in the error envelope: %s",
  async path => {
    expectRefused(await service().get(path), 404)
  },
)

test("answers are not cached, not sniffed and run no script", async () => {
  for (const path of ["/health", "/runs", "/nothing"]) {
    const { headers } = await service().get(path)
    expect(headers.get("cache-control")).toBe("no-store")
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(headers.get("content-type")).toMatch(/^application\/json/)
  }
})
