/** Exports of chains with permits: what they prove, and what no operator can write into them. */
import { describe, expect, test } from "vitest"
import { passedRows, windowTables } from "../src/presentation/completeness-account.ts"
import type { Completeness, FoldOptions } from "../src/verify/completeness.ts"
import { verifyText } from "../src/verify/document.ts"
import { LISTED_MOVEMENTS_MAX } from "../src/verify/export-windows.ts"
import { contradictingPermits } from "./fixtures/contradicting-permits.ts"
import { makeDeployment, sealRun, tenantOf } from "./fixtures/deployment.ts"
import { exportReport } from "./fixtures/judged.ts"
import { closePermit, endPermits, openPermit } from "./fixtures/permits.ts"
import { type Asked, type ChainPart, exportText, stateExport } from "./fixtures/sample-exports.ts"
import { costing, using } from "./fixtures/samples.ts"

const a = makeDeployment()
const first = openPermit(a)
const lost = openPermit(a, { reserve_tokens: 300 })
const run = sealRun(a, { outcome: "ok", declared: costing(500, {}) }).bundle
const closed = closePermit(a, first, { declared: using(2600) }).bundle
const refused = sealRun(a, { outcome: "macc_halt", reserve_tokens: 900_000, window_cap: 900_000 }).bundle
const open = openPermit(a, { at: "2026-01-15T12:00:05.000Z" })
const end = endPermits(a, [lost])
const chain: readonly ChainPart[] = [first.opening, lost.opening, run, closed, refused, open.opening, end]

const judge = (text: string, options: FoldOptions = {}): Completeness => exportReport(text, [a.trust], options)
const sentences = (documents: readonly ChainPart[], asked: Asked = {}, chain = documents): readonly string[] =>
  judge(exportText(stateExport(a, chain, asked), ...documents)).problems.map(({ sentence }) => sentence)

describe("a chain with permits", () => {
  test("is complete with its openings and ends", () => {
    const found = judge(exportText(stateExport(a, chain), ...chain))
    expect(found.problems).toEqual([])
    expect(found).toMatchObject({
      verdict: "COMPLETE CHAIN VERIFIED AND ANCHORED",
      records: 3,
      openings: 3,
      ends: 1,
      open_permits: 1,
      carried: 0,
    })
    expect(passedRows(found).map(({ label }) => label)).toContain("permits")
  })

  test("gives the table of its windows: every movement, and what is in no document", () => {
    const found = judge(exportText(stateExport(a, chain), ...chain), { budgets: true })
    const [table] = windowTables(found)
    expect(table?.heading).toBe(
      "window of 86400 s from 2026-01-15T00:00:00.000Z: 7 movements here; the statement: 7 movements, total 5100",
    )
    expect(table?.rows.map(row => row.replace(/pmt-\w+/, "pmt"))).toEqual([
      "1  reserve  +2000  total 2000  opening 1 (pmt)",
      "2  reserve  +300  total 2300  opening 2 (pmt)",
      "3  charge  +500  total 2800  record 3 (run 1)",
      "4  settle  +0  total 2800  record 4 (run 2)",
      "5  charge  +600  total 3400  record 4 (run 2)",
      "6  reserve  +2000  total 5400  opening 6 (pmt)",
      "7  release  -300  total 5100  end 7",
    ])
    expect(judge(exportText(stateExport(a, chain), ...chain)).windows).toBeUndefined()
    expect(LISTED_MOVEMENTS_MAX).toBeGreaterThan(1000)
  })

  test("says what is missing, of whatever kind", () => {
    expect(sentences(chain.toSpliced(1, 1), {}, chain)).toEqual(
      expect.arrayContaining([
        "document 2 is missing, after opening 1 and before run 1",
        expect.stringMatching(/^end 7 ends the permit pmt-\w+, whose opening is not here/),
      ]),
    )
    expect(sentences(chain.slice(0, -1), {}, chain)).toEqual(["document 7 is missing, after opening 6"])
  })

  test("gives a range, whose closes come with their openings from before", () => {
    const part = chain.slice(2)
    const asked = { from: run.run.created_at }
    const statement = stateExport(a, part, asked)
    const found = judge(exportText(statement, first.opening, ...part), { budgets: true })
    expect(found).toMatchObject({
      verdict: "COMPLETE RANGE VERIFIED AND ANCHORED",
      carried: 1,
      records: 3,
      openings: 1,
    })
    expect(windowTables(found)[0]?.rows).toContain("1 movement, 300 tokens without a record here")
    expect(judge(exportText(statement, ...part)).problems.map(({ sentence }) => sentence)).toEqual([
      expect.stringContaining("whose opening is not here"),
    ])
    // The opening of an end alone is not carried, nor is one that nothing needs.
    expect(judge(exportText(statement, first.opening, lost.opening, ...part)).problems).toEqual([])
    const other = judge(exportText(statement, ...part.toSpliced(1, 0, first.opening)))
    expect(other.verdict).toBe("FAILED")
  })

  test("finds a movement that no document has", () => {
    const b = makeDeployment()
    const one = sealRun(b, { outcome: "ok", declared: costing(10, {}) }).bundle
    tenantOf(b, "api-key-1").spent.set(Date.parse("2026-01-15T00:00:00.000Z"), { total: 50, ordinal: 3 })
    const two = sealRun(b, { outcome: "ok", declared: costing(5, {}) }).bundle
    const found = exportReport(exportText(stateExport(b, [one, two]), one, two), [b.trust], { budgets: true })
    expect(found.problems).toEqual([])
    expect(windowTables(found)[0]?.rows[1]).toBe("2 movements, 40 tokens without a record here")
  })
})

describe("an operator cannot write", () => {
  const cases = contradictingPermits({ signatures: "rfc6979" })
  test.each(cases.map(one => [one.name, one] as const))("%s", (_name, { text, problem }) => {
    const b = makeDeployment()
    const found = exportReport(text, [b.trust])
    expect(found.verdict).toBe("FAILED")
    expect(found.problems.map(({ sentence }) => sentence)[0]?.slice(0, problem.length)).toBe(problem)
    if (problem.includes("does not verify")) return
    for (const line of text.trimEnd().split("\n"))
      expect(verifyText(line, [b.trust])).not.toMatchObject({ verdict: "FAILED" })
  })
})
