/** Reports of runs that closed a permit, or were refused one: docs/report.md. */
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { bundleOf, isUnreadable, verifyDocument } from "@runseal/core/verify/document"
import { REPORT_FORMATS, type ReportFormat } from "@runseal/core/wire/run-summaries"
import { describe, expect, test } from "vitest"
import { makeReport } from "../src/report/make-report.ts"
import { asking, closed, done, opened, openedId } from "./harness/asked-permits.ts"
import { type Answer, numberAt, textAt } from "./harness/read-answer.ts"
import { contextOf, reportText } from "./harness/report-samples.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService(() => ({ config: { windowTokenBudget: 1000 } }))

async function bundle(answer: Answer): Promise<Bundle> {
  const { text } = await service().get(`/runs/${numberAt(answer.body, "run_id")}/artifacts`)
  const found = bundleOf(text)
  if (found === undefined) throw new Error("the record is unreadable")
  return found
}
function textOf(record: Bundle, format: ReportFormat): string {
  const verification = verifyDocument(JSON.parse(JSON.stringify(record)), [service().deps.trust])
  if (isUnreadable(verification)) throw new Error(verification.unreadable)
  return reportText(makeReport(record, contextOf(record, { verification }), format))
}

describe.each(REPORT_FORMATS)("in the format %s", format => {
  test("a close says when the act was permitted and closed, what was reserved and what was used", async () => {
    const { body } = await opened(service())
    const id = textAt(body, "permit_id")
    const record = await bundle(
      await closed(service(), id, done({ request_substance: { cost: { total_tokens: 40 } } })),
    )
    const text = textOf(record, format)
    const entry = textAt(body, "opening", "entry", "logIndex")
    expect(text).toContain(
      `It was permitted on ${textAt(body, "opening", "sections", "envelope", "admission_clock")} (log entry ${entry})`,
    )
    expect(text).toContain(`the run was closed on ${record.run.created_at}`)
    expect(text).toContain("100 tokens")
    expect(text).toContain("40 tokens")
    expect(text).not.toContain("act failed")
  })

  test("an act that failed is in the first words", async () => {
    const id = await openedId(service())
    const record = await bundle(await closed(service(), id, { outcome: "failed", code: "TIMED_OUT" }))
    const text = textOf(record, format)
    expect(text).toContain("Sealed; the permitted act failed")
    expect(text).toContain("TIMED_OUT, no result came in time")
  })

  test("a refused opening reserved nothing", async () => {
    const answer = await service().post("/permits", asking({ reserve_tokens: 100_000 }))
    expect(answer.status).toBe(422)
    expect(textOf(await bundle(answer), format)).toContain("nothing was reserved and nothing was permitted")
  })
})
