/** Verifies a document of any kind. */
import { savedProblem, savedText } from "@runseal/core/presentation/saved-text"
import { isPdf } from "@runseal/core/report-pdf/is-pdf"
import { verifyText } from "@runseal/core/verify/document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Verified } from "./report-file.ts"

/** Verifies JSON text, or the record that an audit report in PDF carries. */
export async function verifyAny(input: Uint8Array, trusts: readonly TrustedKeys[]): Promise<Verified> {
  const problem = savedProblem(input)
  if (problem !== undefined) return { report: { unreadable: problem }, record: input }
  const text = savedText(input)
  if (!isPdf(text)) return { report: verifyText(text, trusts), record: text }
  const { verifyReport } = await import("./report-file.ts")
  return await verifyReport(input, trusts)
}
