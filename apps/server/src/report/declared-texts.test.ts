/** Whatever a caller declares, the report of the run verifies: no text is drawn so that it reads as a hash of another record. */
import { inflateSync } from "node:zlib"
import type { JsonObject } from "@runseal/canonical"
import { readReportPdf, verifyReportFile } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable } from "@runseal/core/verify/document"
import fc from "fast-check"
import { expect, test } from "vitest"
import { reportDeployment, sampleReport, sealed } from "../../spec/harness/report-samples.ts"

/** The texts as declared values, as names, in tables and in cells that hold JSON. */
function declared(texts: readonly string[]): Readonly<Record<"request_substance" | "causal_graph", JsonObject>> {
  const effects = texts.map(text => ({ effect_kind: text, target: text, status: text, more: text }))
  return {
    request_substance: Object.fromEntries(texts.map(text => [text, { [text]: text }])),
    causal_graph: { effect_log: effects },
  }
}

async function verdictOn(texts: readonly string[]): Promise<string> {
  const pdf = await sampleReport(sealed("ok", { declared: declared(texts) }), "comprehensive")
  const file = await readReportPdf(pdf, async (data, maxBytes) => inflateSync(data, { maxOutputLength: maxBytes }))
  if ("unreadable" in file) return file.unreadable
  const report = verifyReportFile(file, [reportDeployment.trust])
  return isUnreadable(report) ? report.unreadable : (report.first_failure ?? report.verdict)
}

const COMPLETE = "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"
const LETTERS = "ab".repeat(8)

test.each([
  ["digits behind a Hebrew letter", `${LETTERS}\u05e912`],
  ["digits behind an Arabic letter and a joiner, which is a box", `${LETTERS}\u0633\u200d12`],
  ["digits behind several boxes", `${LETTERS}\u0633${"\u200d".repeat(4)}12`],
  ["digits behind a letter with many marks", `${LETTERS}\u0633${"\u064e".repeat(6)}12`],
  ["digits behind a box and a blank", `\u05e9\u0661${LETTERS}\u0633\ufb50 17797${LETTERS}`],
])("%s verify", async (_, text) => {
  expect(await verdictOn([text])).toBe(COMPLETE)
})

test("hex digits among letters of all directions, marks and boxes verify", async () => {
  const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdefABCDEF"), minLength: 2, maxLength: 64 })
  const sign = fc.constantFrom(..."שسـ١ﭐ-(). 𝐚ａ½\u064e\u0301\u200b\u200c\u202e\u00ad\n😀漢")
  const text = fc.array(fc.oneof(hex, sign), { minLength: 2, maxLength: 9 }).map(parts => parts.join(""))
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(text, { minLength: 5, maxLength: 5 }), async texts => {
      expect(await verdictOn(texts)).toBe(COMPLETE)
    }),
    { numRuns: 6 },
  )
})
