/** The file that a service makes for an auditor: which of its entries is verified, and what each has to do with the others. Loaded only for a ZIP. */
import type { Verified } from "@runseal/core/report-pdf/verify-report-pdf"
import { verifyReportPdf } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError } from "./exit-answer.ts"
import type { Expectation, Expected } from "./judgement.ts"
import { readZip } from "./zip-input.ts"

/** The record, which the verdict is about. */
const RECORD = "bundle.json"
const REPORT = "report.pdf"
/** Keys that come with a record. */
const KEYS = "trust.json"

/** Printed each time: a reader could think that keys in the file were used. */
const KEYS_UNUSED = `${KEYS} in the ZIP was not used: keys that come with a record prove nothing about who made it.`

/** A record out of a ZIP, with what must hold of the entries beside it. */
export type VerifiedZip = Verified & { readonly beside: readonly Expectation[]; readonly notes: readonly string[] }

/** Verifies the record of a ZIP, and that its report is of the same record. Throws InputError. */
export function verifyZip(input: Uint8Array, trusts: readonly TrustedKeys[]): VerifiedZip {
  const entries = readZip(input)
  const record = entries.get(RECORD)
  if (record === undefined) throw new InputError(`The ZIP holds no ${RECORD}: unpack it, and verify what it holds.`)
  const report = entries.get(REPORT)
  return {
    report: verifyText(record, trusts),
    record,
    beside: report === undefined ? [] : [() => reportExpected(report, record, trusts)],
    notes: entries.has(KEYS) ? [KEYS_UNUSED] : [],
  }
}

/** A report of another record beside this one would be read as its report. */
function reportExpected(pdf: Uint8Array, record: Uint8Array, trusts: readonly TrustedKeys[]): Expected {
  const { report, record: carried } = verifyReportPdf(pdf, trusts)
  const fail = (message: string): Expected => ({ id: "report_in_zip", result: "fail", message })
  if (isUnreadable(report)) return fail(`${REPORT} cannot be read: ${report.unreadable}`)
  if (report.verdict === VERDICTS.failed) return fail(`${REPORT} does not verify: verify it by itself to see why`)
  if (!Buffer.from(carried).equals(record)) return fail(`${REPORT} carries another record than ${RECORD}`)
  return { id: "report_in_zip", result: "pass", message: `${REPORT} verifies, and carries the record of ${RECORD}` }
}
