/** docs/api.md, "GET /runs/{id}/report.pdf". The content of a report is tested beside its source. */
import { verifyReportPdf } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable } from "@runseal/core/verify/document"
import type { Report } from "@runseal/core/verify/report"
import { REPORT_FORMATS } from "@runseal/core/wire/run-summaries"
import { describe, expect, test } from "vitest"
import { readable } from "../../../libs/core/test/fixtures/judged.ts"
import { REPORTS_PER_CALLER_MAX } from "../src/report/renderer.ts"
import { ADMIN, caller, holderOf } from "./harness/key-holders.ts"
import { expectRefused, readAnswer } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { CASES, standingSevenStates } from "./harness/seven-states.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { verifyWithCli } from "./harness/verifier.ts"

const COMPLETE = "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"

const judgedBy = ({ deps }: Pick<TestService, "deps">, pdf: Uint8Array): Report =>
  readable(verifyReportPdf(pdf, [deps.trust]).report)

/** Each ending in one format, and each format of one ending: what both together say is tested beside the source. */
const matrix = [
  ...CASES.map(name => ({ name, format: "brief" as const })),
  ...REPORT_FORMATS.filter(format => format !== "brief").map(format => ({ name: "ok" as const, format })),
]

describe("the report of a run", () => {
  const { service, runId } = standingSevenStates()

  const fetched = async (path: string): Promise<{ readonly response: Response; readonly pdf: Uint8Array }> => {
    const response = await service().request(path)
    return { response, pdf: new Uint8Array(await response.arrayBuffer()) }
  }
  test.each(matrix)("$name, $format: a PDF that carries the sealed record", async ({ name, format }) => {
    const id = runId(name)
    const { response, pdf } = await fetched(`/runs/${id}/report.pdf?format=${format}`)
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("application/pdf")
    expect(response.headers.get("content-disposition")).toBe(
      `attachment; filename="runseal-audit-run-${id}-${format}.pdf"`,
    )
    expect(response.headers.get("cache-control")).toBe("no-store")
    const report = judgedBy(service(), pdf)
    expect(report.checks.filter(check => check.result === "fail")).toEqual([])
    expect(report.verdict).toBe(COMPLETE)
    expect(new TextDecoder().decode(verifyReportPdf(pdf, []).record)).toBe(
      (await service().get(`/runs/${id}/artifacts`)).text,
    )
    const pages =
      Buffer.from(pdf)
        .toString("latin1")
        .match(/\/Type \/Page\b/g)?.length ?? 0
    if (format === "brief") expect(pages).toBe(2)
    else expect(pages).toBeGreaterThan(2)
  })

  test("is comprehensive when no format is asked for", async () => {
    const { response, pdf } = await fetched(`/runs/${runId("ok")}/report.pdf`)
    expect(response.headers.get("content-disposition")).toContain("-comprehensive.pdf")
    expect(pdf).toEqual((await fetched(`/runs/${runId("ok")}/report.pdf?format=comprehensive`)).pdf)
  })

  test("is the same to the byte whenever it is made", async () => {
    const path = `/runs/${runId("ok")}/report.pdf?format=legal`
    const first = await fetched(path)
    service().clock.advance(3_600_000)
    expect((await fetched(path)).pdf).toEqual(first.pdf)
  })

  test("names no address that its caller wrote into the request", async () => {
    const path = `/runs/${runId("ok")}/report.pdf?format=auditor`
    const { pdf } = await fetched(`http://evil.example${path}`)
    expect(pdf).toEqual((await fetched(path)).pdf)
  })

  test("fails its verification when one byte of the record in it is changed", async () => {
    const { pdf } = await fetched(`/runs/${runId("deny_by_rule")}/report.pdf`)
    const at = Buffer.from(pdf).indexOf(verifyReportPdf(pdf, []).record)
    expect(at).toBeGreaterThan(0)
    const changed = Uint8Array.from(pdf)
    changed[at + 100]! ^= 1
    const { report } = verifyReportPdf(changed, [service().deps.trust])
    expect(isUnreadable(report) ? "FAILED" : report.verdict).toBe("FAILED")
  })

  test("verifies with the command line from its file, and fails there when its record says something else", async () => {
    const { pdf } = await fetched(`/runs/${runId("ccv_halt")}/report.pdf?format=brief`)
    const trust = (await service().get("/.well-known/runseal-trust.json")).text
    const honest = await verifyWithCli(pdf, trust)
    expect(honest.stdout).toContain("report_signature")
    expect(honest).toMatchObject({ exit: 0, verdict: COMPLETE })
    const cut = await verifyWithCli(pdf.subarray(0, -1024), trust)
    expect(cut).toMatchObject({ exit: 2, stdout: "" })
    expect(cut.stderr).toContain("not an audit report of ours")
  })

  test("a run that does not exist has none", async () => {
    expectRefused(await service().get("/runs/999999/report.pdf"), 404)
    expectRefused(await service().get("/runs/x/report.pdf"), 404)
  })

  test("a few of one caller are under way at once; the rest is told to try again, and nothing else stands still", async () => {
    const asked = Array.from({ length: REPORTS_PER_CALLER_MAX + 3 }, () =>
      service().request(`/runs/${runId("ok")}/report.pdf`),
    )
    expect((await service().get("/health")).status).toBe(200)
    const answers = await Promise.all(asked)
    const refused = answers.filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.filter(({ status }) => status === 200).length + refused.length).toBe(answers.length)
    for (const response of refused) {
      const answer = await readAnswer(response)
      expectRefused(answer, 503)
      expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
    }
  })
})

describe("in locked mode the report of a run", () => {
  const baseUrl = "https://runs.example.com"
  const service = standingService(() => ({ config: { baseUrl } }))

  test("is served only to the key that made the run; it names the public bundle while there is one, under the operator's address", async () => {
    const open = caller(service())
    const admin = holderOf(service(), await open.post("/admin/keys", ADMIN))
    const other = holderOf(service(), await admin.post("/admin/keys", { name: "other" }))
    const { body } = await admin.execute(request())
    const path = `/runs/${body.run_id}/report.pdf?format=brief`
    expectRefused(await open.get(path), 401)
    expectRefused(await other.get(path), 404)
    const pdfOf = async (): Promise<Buffer> => {
      const response = await service().request(path, { headers: { "X-Service-Key": admin.secret ?? "" } })
      expect(response.status).toBe(200)
      return Buffer.from(await response.arrayBuffer())
    }
    const before = await pdfOf()
    await admin.post(`/admin/runs/${body.run_id}/publish`)
    const published = await pdfOf()
    expect(published.equals(before)).toBe(false)
    for (const pdf of [before, published]) expect(judgedBy(service(), pdf).verdict).toBe(COMPLETE)
    await admin.post(`/admin/runs/${body.run_id}/unpublish`)
    expect((await pdfOf()).equals(before)).toBe(true)
  })
})
