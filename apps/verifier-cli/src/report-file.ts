/** Reads an audit report in PDF. Loaded only when the document is one. */
import { createInflate } from "node:zlib"
import { concatBytes } from "@runseal/canonical"
import type { Inflate } from "@runseal/core/report-pdf/pdf-file"
import { readReportPdf, verifyReportFile } from "@runseal/core/report-pdf/verify-report-pdf"
import type { Unreadable } from "@runseal/core/verify/document"
import type { Report } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"

const inflateBounded: Inflate = async (data, maxBytes) => {
  const decoder = createInflate()
  decoder.end(data)
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of decoder) {
    size += part.length
    if (size > maxBytes) throw new Error("the stream is longer than it may be")
    parts.push(part)
  }
  // Node ignores bytes behind the end, which browsers refuse.
  if (decoder.bytesWritten !== data.length) throw new Error("something is behind the stream")
  return concatBytes(...parts)
}

/** A document's report, and the bytes of the record it is about. */
export type Verified = { readonly report: Report | Unreadable; readonly record: Uint8Array }

/** Verifies an audit report by the record that it carries. */
export async function verifyReport(pdf: Uint8Array, trusts: readonly TrustedKeys[]): Promise<Verified> {
  const file = await readReportPdf(pdf, inflateBounded)
  if ("unreadable" in file) return { report: file, record: pdf }
  return { report: verifyReportFile(file, trusts), record: file.record }
}
