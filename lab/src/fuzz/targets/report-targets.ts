/** Audit reports in PDF: read or refused, and verified only as somebody signed them, byte for byte. */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { equalBytes, parseStrictJson } from "@runseal/canonical"
import { verifyReportPdf } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable } from "@runseal/core/verify/document"
import { vectorTrust } from "../authentic.ts"
import { type FuzzTarget, promise } from "../fuzz-target.ts"

const trust = vectorTrust()

const PRINT_REPORTS = fileURLToPath(
  new URL("../../../../libs/core/test/fixtures/vectors/print-reports.ts", import.meta.url),
)
/** Small reports. They are signed by core's own fixtures, which are run as a program. */
const madeReports = (): readonly Uint8Array[] => {
  const printed = parseStrictJson(execFileSync(process.execPath, [PRINT_REPORTS], { maxBuffer: 4_194_304 }))
  if (!Array.isArray(printed)) throw new Error("The fixtures gave no reports.")
  return printed.map(text => new Uint8Array(Buffer.from(`${text}`, "base64")))
}
let seeds: readonly Uint8Array[] | undefined
const signedReports = (): readonly Uint8Array[] => {
  seeds ??= madeReports()
  return seeds
}

export const reports: FuzzTarget = {
  name: "report-pdf",
  seeds: signedReports,
  words: ["stream\n", "\nendstream\nendobj\n\n", "/Length ", "2 0 obj\n", "/M (D:", "/ByteRange [ 0 ", "/Contents <"],
  run: input => {
    const { report } = verifyReportPdf(input, [trust])
    if (isUnreadable(report) || !/VERIFIED/.test(report.verdict)) return
    const isSigned = signedReports().some(known => equalBytes(known, input))
    promise(isSigned, `a report that nobody signed is ${report.verdict}`)
  },
}
