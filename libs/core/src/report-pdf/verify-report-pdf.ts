/**
 * Verifies an audit report in PDF: the service's signature over the whole file, and the record at its fixed place. The record is the
 * evidence. The pages are the service's words: they are signed, and nothing in them is read.
 */
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { bundleOf, isUnreadable, verifyText } from "../verify/document.ts"
import type { Unreadable } from "../verify/parsed-text.ts"
import { type Check, limitation, REPORT_SIGNATURE_ID, type Report, VERDICTS } from "../verify/report.ts"
import { clockSeconds } from "../vocabulary/scalars.ts"
import { readLayout } from "./report-layout.ts"
import { type ReportSignature, readReportSignature, signatureProblem, signersOf } from "./report-signature.ts"

/** A document's report, and the bytes of the record it is about. */
export type Verified = { readonly report: Report | Unreadable; readonly record: Uint8Array }

/** Verifies a report by its signature and the record that it carries. Hostile input never throws. */
export function verifyReportPdf(pdf: Uint8Array, trusts: readonly TrustedKeys[]): Verified {
  const parts = readLayout(pdf)
  if (typeof parts === "string") return { report: { unreadable: `not an audit report of ours: ${parts}` }, record: pdf }
  return { report: reportOn(parts.record, readReportSignature(pdf, parts), trusts), record: parts.record }
}

/** @param signature undefined when the room for it holds none */
function reportOn(
  record: Uint8Array,
  signature: ReportSignature | undefined,
  trusts: readonly TrustedKeys[],
): Report | Unreadable {
  // One service speaks: a record of another's, whose key did not sign the report, is no record of it.
  const signers = signature === undefined ? [] : signersOf(signature, trusts)
  const report = verifyText(record, signers.length === 0 ? trusts : signers.map(({ trust }) => trust))
  if (isUnreadable(report)) return { unreadable: `the record in the PDF is ${report.unreadable}` }
  const bundle = bundleOf(record)
  if (bundle === undefined) return { unreadable: "the PDF carries no audit bundle" }
  const check = signatureCheck(signature, signers, clockSeconds(bundle.run.created_at) ?? 0)
  const checks = [...report.checks, check]
  const limitations = [...report.limitations, limitation("pages_rendered")]
  if (check.result === "pass") return { ...report, checks, limitations }
  // A record whose service is trusted, in a report that this service did not sign, is more than a want of keys.
  const isUnvouched = signature !== undefined && signers.length === 0 && report.unvouched !== undefined
  return {
    ...report,
    checks,
    limitations,
    verdict: VERDICTS.failed,
    first_failure: report.first_failure ?? check.id,
    ...(isUnvouched ? { unvouched: [...(report.unvouched ?? []), check.id] } : {}),
  }
}

type Signers = ReturnType<typeof signersOf>

/** Every trust document that lists the key must accept the signature: one of them may know that the key was revoked. */
function signatureCheck(signature: ReportSignature | undefined, signers: Signers, madeAt: number): Check {
  const fail = (message: string): Check => ({ id: REPORT_SIGNATURE_ID, result: "fail", message })
  if (signature === undefined) return fail("The place of the report's signature holds none.")
  if (signers.length === 0) return fail("No service key that you trust signed the report.")
  for (const { trust, key } of signers) {
    const problem = signatureProblem(signature, key, trust.origin, madeAt)
    if (problem !== undefined) return fail(problem)
  }
  const [signer] = signers
  const message = `Service key ${signer?.key.keyId ?? ""} signed the whole file; nothing dates that signature.`
  return { id: REPORT_SIGNATURE_ID, result: "pass", message }
}
