/** docs/operations.md, "Access log". */
import { describe, expect, test } from "vitest"
import { ADMIN, mint } from "./harness/key-holders.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

type Line = Readonly<Record<string, unknown>>
const linesOf = (lines: readonly string[]): readonly Line[] =>
  lines.map((line): Line => JSON.parse(line)).filter(({ msg }) => msg === "answered")

describe("with --access-log", () => {
  const service = standingService(() => ({ config: { accessLog: "on" } }))

  test("each answer is a line, under the request id that the caller sent", async () => {
    await service().request("/runs/7", { headers: { "X-Request-Id": "order-4711" } })
    const [line, ...more] = linesOf(service().logLines)
    expect(more).toEqual([])
    expect(line).toMatchObject({
      level: 30,
      request_id: "order-4711",
      method: "GET",
      route: "/runs/:id",
      status: 404,
      key_id: 0,
    })
    expect(line?.duration_ms).toBeGreaterThan(0)
  })

  test("a line holds no path, query, payload or secret", async () => {
    const admin = await mint(service(), ADMIN)
    const denied = await admin.execute(request({ payload: EICAR }))
    const { body } = await admin.post(`/admin/runs/${denied.body.run_id}/publish`, {})
    await service().get(`/public/runs/${body.token}/bundle.json`)
    await service().get("/canary-7f21?canary=7f21")
    const lines = linesOf(service().logLines)
    expect(lines.map(({ route, status, key_id }) => [route, status, key_id]).slice(-4)).toEqual([
      ["/execute", 422, admin.id],
      ["/admin/runs/:id/publish", 200, admin.id],
      ["/public/runs/:token/bundle.json", 200, undefined],
      [undefined, 401, undefined],
    ])
    const text = service().logLines.join("\n")
    for (const secret of [admin.secret, EICAR, body.token, "canary"]) expect(text).not.toContain(secret)
  })
})

describe("without it", () => {
  const service = standingService()
  test("there is no line", async () => {
    await service().get("/runs")
    expect(linesOf(service().logLines)).toEqual([])
  })
})
