/** Verifies a document of any kind. */
import { isPdf } from "@runseal/core/report-pdf/is-pdf"
import { verifyText } from "@runseal/core/verify/document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Verified } from "./report-file.ts"

/** Verifies JSON text, or the record that an audit report in PDF carries. */
export async function verifyAny(input: Uint8Array, trusts: readonly TrustedKeys[]): Promise<Verified> {
  if (!isPdf(input)) return { report: verifyText(input, trusts), record: input }
  const { verifyReport } = await import("./report-file.ts")
  return await verifyReport(input, trusts)
}
