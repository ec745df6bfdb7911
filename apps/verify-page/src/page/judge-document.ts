/** One verification, with the same code as every verifier: a document's bytes and the trusted keys give the report. */
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { isPdf } from "@runseal/core/report-pdf/is-pdf"
import { verifyReportPdf } from "@runseal/core/report-pdf/verify-report-pdf"
import { evidenceOf, isUnreadable, verifyText } from "@runseal/core/verify/document"
import type { EvidenceLine } from "@runseal/core/verify/kind"
import type { Unreadable } from "@runseal/core/verify/parsed-text"
import { heldToClock, type Report } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"

export type Reading = { readonly report: Report; readonly evidence: readonly EvidenceLine[] }

/** Verifies a document or an audit report in PDF. No bytes make it throw. @param trusts keys from outside the document */
export function judge(bytes: Uint8Array, trusts: readonly TrustedKeys[]): Reading | Unreadable {
  const problem = savedProblem(bytes)
  if (problem !== undefined) return { unreadable: problem }
  const text = savedText(bytes)
  const { report, record } = isPdf(text)
    ? verifyReportPdf(bytes, trusts)
    : { report: verifyText(text, trusts), record: text }
  if (isUnreadable(report)) return report
  return { report: heldToClock(report, Date.now()), evidence: evidenceOf(record) }
}
