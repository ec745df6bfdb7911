/** One verification, with the same code as every verifier: a document's bytes and the trusted keys give the report. */
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { isPdf } from "@runseal/core/report-pdf/is-pdf"
import type { Inflate } from "@runseal/core/report-pdf/pdf-file"
import { readReportPdf, verifyReportFile } from "@runseal/core/report-pdf/verify-report-pdf"
import { isUnreadable, type Unreadable, verifyText } from "@runseal/core/verify/document"
import { type EvidenceLine, evidenceOf } from "@runseal/core/verify/evidence-summary"
import { heldToClock } from "@runseal/core/verify/reader-clock"
import type { Report } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { collect } from "./read-bounded.ts"

export type Reading = { readonly report: Report; readonly evidence: readonly EvidenceLine[] }

const inflate: Inflate = async (data, maxBytes) => {
  const inflated = new Blob([new Uint8Array(data)]).stream().pipeThrough(new DecompressionStream("deflate"))
  const bytes = await collect(inflated, maxBytes)
  if (bytes === undefined) throw new Error("the stream is longer than it may be")
  return bytes
}

/** Verifies a document or an audit report in PDF. No bytes make it throw. @param trusts keys from outside the document */
export async function judge(bytes: Uint8Array, trusts: readonly TrustedKeys[]): Promise<Reading | Unreadable> {
  const problem = savedProblem(bytes)
  if (problem !== undefined) return { unreadable: problem }
  const text = savedText(bytes)
  if (!isPdf(text)) return readingOf(verifyText(text, trusts), text)
  const file = await readReportPdf(bytes, inflate)
  return "unreadable" in file ? file : readingOf(verifyReportFile(file, trusts), file.record)
}

function readingOf(report: Report | Unreadable, record: Uint8Array): Reading | Unreadable {
  if (isUnreadable(report)) return report
  return { report: heldToClock(report, Date.now()), evidence: evidenceOf(record) }
}
