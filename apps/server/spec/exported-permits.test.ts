/** Exports of chains with permits: what their statements count, and the openings that they carry from before their range. */
import type { JsonObject } from "@runseal/canonical"
import { COMPLETENESS_VERDICTS, type Completeness } from "@runseal/core/verify/completeness"
import { beforeAll, expect, test } from "vitest"
import { exportReport } from "../../../libs/core/test/fixtures/judged.ts"
import { eachDatabase } from "./database/databases.ts"
import { opened } from "./harness/asked-permits.ts"
import { trustOf } from "./harness/auditor.ts"
import { type Answer, objectAt, textAt } from "./harness/read-answer.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { standingService, type TestService } from "./harness/test-service.ts"
import { runVerifierOn } from "./harness/verifier.ts"

const HOUR_MS = 3_600_000

const asking = (): JsonObject => {
  const { ai_output_text: _output, ...body } = request()
  return { ...body, reserve_tokens: 100, audience: "payments.example", close_within_seconds: 3 * 3600 }
}

const open = async (service: TestService): Promise<string> => {
  const answer: Answer = await service.post("/permits", asking())
  expect(answer.status, answer.text).toBe(201)
  return textAt(answer.body, "permit_id")
}

const close = async (service: TestService, id: string): Promise<void> => {
  const answer = await service.post(`/permits/${id}/close`, {
    outcome: "completed",
    ai_output_text: "paid",
    request_substance: { cost: { total_tokens: 120 } },
  })
  expect(answer.status, answer.text).toBe(200)
}

async function exported(service: TestService, query = ""): Promise<readonly string[]> {
  const response = await service.request(`/runs/export${query}`)
  return (await response.text()).slice(0, -1).split("\n")
}

const judged = async (service: TestService, lines: readonly string[]): Promise<Completeness> =>
  exportReport(lines, [await trustOf(service)])

const kindsOf = (lines: readonly string[]): readonly string[] => lines.map(line => textAt(JSON.parse(line), "kind"))
const leafOf = (lines: readonly string[]): JsonObject => objectAt(JSON.parse(lines[0] ?? ""), "leaf")

const [STATEMENT, RECORD] = ["vfa.export.v2", "vfa.audit_bundle.v2"]
const [OPENING, END] = ["vfa.opening.v1", "vfa.permit_end.v1"]

eachDatabase("an export with a permit that was redeemed and not closed", openDatabase => {
  const service = standingService(() => ({ open: openDatabase }))

  test("is complete, and counts the act that was started and never reported", async () => {
    const { body } = await opened(service(), { redeem_required: true, close_within_seconds: 300 })
    const permit = textAt(body, "permit")
    expect((await service().post(`/permits/${textAt(body, "permit_id")}/redeem`, { permit })).status).toBe(200)
    service().clock.advance(HOUR_MS)
    await service().deps.permitEnds.sweep()
    const found = await judged(service(), await exported(service()))
    expect(found).toMatchObject({ verdict: COMPLETENESS_VERDICTS.chain, unreported_acts: 1, problems: [] })
  })
})

eachDatabase("exports with permits", openDatabase => {
  const service = standingService(() => ({ open: openDatabase }))
  let second = ""

  /** Ordinals 1 … 7: two openings and a run; an hour later a close and an opening; then the end of one, and a run. */
  beforeAll(async () => {
    const closed = await open(service())
    await open(service())
    await service().execute(spending(7))
    service().clock.advance(HOUR_MS)
    second = new Date(service().clock.nowMs()).toISOString()
    await close(service(), closed)
    service().clock.advance(2 * HOUR_MS + 600_000)
    await service().deps.permitEnds.sweep()
    await open(service())
    await service().execute(spending(9))
  })

  test("a whole chain: records, openings and ends in its order, recounted by the verifier", async () => {
    const lines = await exported(service())
    expect(kindsOf(lines)).toEqual([STATEMENT, OPENING, OPENING, RECORD, RECORD, END, OPENING, RECORD])
    expect(leafOf(lines)).toMatchObject({ head_ordinal: 7, records: 3, openings: 3, ends: 1, open_permits: 1 })
    expect(await judged(service(), lines)).toMatchObject({ problems: [] })
    const [window] = JSON.parse(lines[0] ?? "").windows
    // Reserve, reserve, charge, settle and charge of the close, release, reserve, charge.
    expect(window).toMatchObject({ last_ordinal: 8, total: 7 + 120 + 100 + 9 })
  })

  test("a range that holds a close without its opening carries the opening, before the range", async () => {
    const lines = await exported(service(), `?from=${second}`)
    expect(kindsOf(lines)).toEqual([STATEMENT, OPENING, RECORD, END, OPENING, RECORD])
    expect(leafOf(lines)).toMatchObject({ first_ordinal: 4, last_ordinal: 7, records: 2, openings: 1, ends: 1 })
    expect(await judged(service(), lines)).toMatchObject({ problems: [] })
    const without = await judged(service(), lines.toSpliced(1, 1))
    expect(without.verdict).toBe("FAILED")
  })

  test("the command says so as well, and lists the windows", async () => {
    const trust = (await service().get("/.well-known/runseal-trust.json")).text
    const text = `${(await exported(service())).join("\n")}\n`
    const run = await runVerifierOn("export.ndjson", text, trust, ["--complete", "--budgets"])
    expect(run, run.stdout).toMatchObject({ exit: 0, verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED" })
  })

  test("an opening that leaves the export, and one that is there twice, are found", async () => {
    const lines = await exported(service())
    expect((await judged(service(), lines.toSpliced(2, 1))).verdict).toBe("FAILED")
    expect((await judged(service(), lines.toSpliced(2, 0, lines[1] ?? ""))).verdict).toBe("FAILED")
  })
})
