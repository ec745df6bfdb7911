/** Reads an audit report in PDF. Loaded only when the document is one. */
import { inflate } from "node:zlib"
import { readReportPdf, verifyReportFile } from "@runseal/core/report-pdf/verify-report-pdf"
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import type { Answer } from "./answer.ts"
import type { Style } from "./print.ts"
import { answerOf, type VerifyFlags } from "./verify-text.ts"

const inflateBounded = (data: Uint8Array, maxBytes: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    inflate(data, { maxOutputLength: maxBytes }, (error, inflated) =>
      error === null ? resolve(inflated) : reject(error),
    )
  })

/** Verifies an audit report by the record that it carries. */
export async function verifyReport(
  pdf: Uint8Array,
  trusts: readonly TrustedKeys[],
  flags: VerifyFlags,
  style: Style,
): Promise<Answer> {
  const file = await readReportPdf(pdf, inflateBounded)
  if ("unreadable" in file) return answerOf(file, pdf, trusts, flags, style)
  return answerOf(verifyReportFile(file, trusts), file.record, trusts, flags, style)
}
