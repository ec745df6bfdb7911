/** Verifies a document of any kind. */
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { isPdf } from "@runseal/core/report-pdf/is-pdf"
import type { Verified } from "@runseal/core/report-pdf/verify-report-pdf"
import { verifyText } from "@runseal/core/verify/document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"

/** Verifies JSON text, or the record that an audit report in PDF carries. */
export async function verifyAny(input: Uint8Array, trusts: readonly TrustedKeys[]): Promise<Verified> {
  const problem = savedProblem(input)
  if (problem !== undefined) return { report: { unreadable: problem }, record: input }
  const text = savedText(input)
  if (!isPdf(text)) return { report: verifyText(text, trusts), record: text }
  const { verifyReportPdf } = await import("@runseal/core/report-pdf/verify-report-pdf")
  return verifyReportPdf(input, trusts)
}
