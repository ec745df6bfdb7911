/** Reads an audit report in PDF. Loaded only when the document is one. */
import { inflate } from "node:zlib"
import { readReportPdf, verifyReportFile } from "@runseal/core/report-pdf/verify-report-pdf"
import type { Unreadable } from "@runseal/core/verify/document"
import type { Report } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"

const inflateBounded = (data: Uint8Array, maxBytes: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    inflate(data, { maxOutputLength: maxBytes }, (error, inflated) =>
      error === null ? resolve(inflated) : reject(error),
    )
  })

/** A document's report, and the bytes of the record it is about. */
export type Verified = { readonly report: Report | Unreadable; readonly record: Uint8Array }

/** Verifies an audit report by the record that it carries. */
export async function verifyReport(pdf: Uint8Array, trusts: readonly TrustedKeys[]): Promise<Verified> {
  const file = await readReportPdf(pdf, inflateBounded)
  if ("unreadable" in file) return { report: file, record: pdf }
  return { report: verifyReportFile(file, trusts), record: file.record }
}
