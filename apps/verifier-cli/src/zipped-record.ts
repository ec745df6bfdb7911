/** The file that a service makes for an auditor: which of its entries is verified, and what each has to do with the others. Loaded only for a ZIP. */
import { isDeepStrictEqual } from "node:util"
import type { Verified } from "@runseal/core/report-pdf/verify-report-pdf"
import { verifyReportPdf } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { InputError } from "./exit-answer.ts"
import type { Expectation, Expected } from "./judgement.ts"
import { parseTrustFile } from "./trust-store.ts"
import { readZip, type ZipEntries } from "./zip-input.ts"

/** The record, which the verdict is about. */
const RECORD = "bundle.json"
const REPORT = "report.pdf"
/** Keys that come with a record. */
const KEYS = "trust.json"

/** Words for people. Nobody signs them where they are. */
const UNREAD = ["checkpoint.txt", "HOW-TO-VERIFY.txt"]
/** What a service puts into the file. An entry of another name could be taken for one of these, such as Report.pdf. */
const NAMES: ReadonlySet<string> = new Set([RECORD, REPORT, KEYS, ...UNREAD])

/** A reader could think that keys in the file were used. */
const KEYS_UNUSED = `${KEYS} in the ZIP was not used: keys that come with a record prove nothing about who made it.`
/** A reader may have taken the keys from the ZIP, or got the same document by another way: only the reader knows. */
const KEYS_ALIKE = `your keys are the same as those of ${KEYS} in the ZIP. If you took them from there, and did not compare their fingerprints with the operator, nothing is proven about who made the record.`

/** A record out of a ZIP, with what must hold of the entries beside it. */
export type VerifiedZip = Verified & { readonly beside: readonly Expectation[]; readonly notes: readonly string[] }

/** Verifies the record of a ZIP, and that its report is of the same record. Throws InputError. */
export function verifyZip(input: Uint8Array, trusts: readonly TrustedKeys[]): VerifiedZip {
  const entries = readZip(input)
  const [other] = [...entries.keys()].filter(name => !NAMES.has(name))
  if (other !== undefined)
    throw new InputError(
      `The ZIP is not read: ${other} is no entry that a service makes. Unpack it, and verify each file by itself.`,
    )
  const record = entries.get(RECORD)
  if (record === undefined) throw new InputError(`The ZIP holds no ${RECORD}: unpack it, and verify what it holds.`)
  const report = entries.get(REPORT)
  return {
    report: verifyText(record, trusts),
    record,
    beside: report === undefined ? [] : [() => reportExpected(report, record, trusts)],
    notes: notesOn(entries, trusts),
  }
}

/** What a reader must know of the entries that the verdict is not about. */
function notesOn(entries: ZipEntries, trusts: readonly TrustedKeys[]): readonly string[] {
  const keys = entries.get(KEYS)
  const unread = UNREAD.filter(name => entries.has(name))
  return [
    ...(keys === undefined ? [] : [areAmong(trusts, keys) ? KEYS_ALIKE : KEYS_UNUSED]),
    ...(unread.length === 0 ? [] : [`not verified in the ZIP: ${unread.join(", ")}`]),
  ]
}

/** Whether a reader's keys are those of a trust document. One that cannot be read holds no keys. */
function areAmong(trusts: readonly TrustedKeys[], document: Uint8Array): boolean {
  try {
    const { keys } = parseTrustFile(document, KEYS)
    return trusts.some(trust => isDeepStrictEqual(trust, keys))
  } catch (error) {
    if (error instanceof InputError) return false
    throw error
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
