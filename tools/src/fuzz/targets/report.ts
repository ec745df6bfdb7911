/** Audit reports in PDF: read within bounds or refused, and verified only by a record that somebody signed. */
import { inflateSync } from "node:zlib"
import { parseStrictJson } from "@runseal/canonical"
import { readReportPdf, verifyReportFile } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable } from "@runseal/core/verify/document"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { authenticity, vectorTrust } from "../authentic.ts"
import { type FuzzTarget, promise } from "../fuzz-target.ts"

const trust = vectorTrust()
const isAuthentic = authenticity()

/** The seeds are kept files: a report in full is some hundred kilobytes. */
export const reports: FuzzTarget = {
  name: "report-pdf",
  seeds: () => [],
  words: [
    "/Kids [ ",
    " 0 R ",
    "<< ",
    " >>",
    "stream\n",
    "\nendstream",
    "/Length ",
    "/Filter /FlateDecode ",
    " obj",
    "xref\n",
    "startxref\n",
    "beginbfchar",
    "endbfrange",
    " Tj",
    " Tf",
    "BI",
  ],
  run: async input => {
    const file = await readReportPdf(input, async (data, max) => inflateSync(data, { maxOutputLength: max }))
    if ("unreadable" in file) return
    const report = verifyReportFile(file, [trust])
    if (isUnreadable(report) || !/VERIFIED/.test(report.verdict)) return
    const record = parseStrictJson(file.record)
    promise(isObject(record) && isAuthentic(record), `a report of a record that nobody signed is ${report.verdict}`)
  },
}
