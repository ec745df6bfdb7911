/**
 * Verifies an audit report: the record it carries, the service's signature over the whole file, and the hashes its pages print. The
 * attachment is the evidence; the pages are a rendering of it. Who holds the service key can draw letters that only look like others:
 * the pages alone never prove anything.
 */
import { canonicalize, utf8Decode } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { isUnreadable, type Unreadable, verifyText } from "../verify/document.ts"
import { bundleOf } from "../verify/document-anchors.ts"
import {
  type Check,
  type CheckId,
  limitation,
  PRINTED_HASHES_ID,
  REPORT_SIGNATURE_ID,
  type Report,
  VERDICTS,
} from "../verify/report.ts"
import { clockSeconds } from "../vocabulary/scalars.ts"
import { type Inflate, openPdf } from "./pdf-file.ts"
import { PdfError } from "./pdf-value.ts"
import { foreignTo, type PrintedHashes, printedHashes } from "./printed-hashes.ts"
import { reportParts } from "./report-shape.ts"
import { type ReportSignature, readReportSignature, signatureProblem, signersOf } from "./report-signature.ts"
import { printedText } from "./report-text.ts"
import { readSignatureObject } from "./signature-object.ts"

/** The parts of a report that a verifier checks. */
export type ReportFile = {
  /** The sealed record it carries, as its bytes. */
  readonly record: Uint8Array
  readonly pages: number
  readonly hashes: PrintedHashes
  /** Undefined when the room for it holds none. */
  readonly signature: ReportSignature | undefined
}

/** Reads a report. Hostile input never throws. */
export async function readReportPdf(bytes: Uint8Array, inflate: Inflate): Promise<ReportFile | Unreadable> {
  try {
    const file = openPdf(bytes, inflate)
    const parts = reportParts(file)
    const { start = 0, end = 0 } = file.objects.get(parts.signature) ?? {}
    const object = readSignatureObject(bytes, start, end)
    const runs = await printedText(file, parts.pages)
    const metadata: string[] = []
    for (const stream of parts.metadata) metadata.push(plainXml(await file.stream(stream)))
    return {
      record: await file.stream(parts.attachment),
      pages: parts.pages.length,
      hashes: printedHashes(runs, [...parts.texts, ...metadata]),
      signature: readReportSignature(bytes, object),
    }
  } catch (error) {
    if (error instanceof PdfError) return { unreadable: `not an audit report of ours: ${error.message}` }
    throw error
  }
}

/** XML that shows what is written there: UTF-8, and no letters but those five by their names. @throws PdfError */
function plainXml(bytes: Uint8Array): string {
  const xml = utf8Decode(bytes)
  if (xml === undefined || /<!|&(?!(?:amp|lt|gt|quot|apos);)/.test(xml))
    throw new PdfError("its metadata is not as ours")
  return xml
}

/** Verifies the record that a report carries, the report's signature, and what its pages print. */
export function verifyReportFile(file: ReportFile, trusts: readonly TrustedKeys[]): Report | Unreadable {
  // One service speaks: a record of another's, whose key did not sign the report, is no record of it.
  const signers = file.signature === undefined ? [] : signersOf(file.signature, trusts)
  const report = verifyText(file.record, signers.length === 0 ? trusts : signers.map(({ trust }) => trust))
  if (isUnreadable(report)) return { unreadable: `the record in the PDF is ${report.unreadable}` }
  const record = bundleOf(file.record)
  if (record === undefined) return { unreadable: "the PDF carries no audit bundle" }
  const signature = signatureCheck(file, signers, clockSeconds(record.run.created_at) ?? 0)
  // A record whose service is trusted, in a report that this service did not sign, is more than a want of keys.
  const isUnvouched = file.signature !== undefined && signers.length === 0 && report.unvouched !== undefined
  return withChecks(report, [signature, hashCheck(file, record)], isUnvouched ? [REPORT_SIGNATURE_ID] : [])
}

type Signers = ReturnType<typeof signersOf>

/** Every trust document that lists the key must accept the signature: one of them may know that the key was revoked. */
function signatureCheck({ signature }: ReportFile, signers: Signers, madeAt: number): Check {
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

/** The pages print hashes of derived sections too, which the record only gives. */
function hashCheck({ pages, hashes }: ReportFile, record: Bundle): Check {
  const fail = (message: string): Check => ({ id: PRINTED_HASHES_ID, result: "fail", message })
  const foreign = foreignTo(canonicalize(record), hashes.pieces)
  if (foreign === undefined) return fail("The pages print too many hashes to compare them.")
  if (foreign > 0)
    return fail(`The pages print ${foreign} hash${foreign === 1 ? "" : "es"} that the attached record does not hold.`)
  if (!hashes.whole.has(record.bundle_hash))
    return fail("The pages do not print the hash that seals the attached record.")
  const message = `${pages} pages print ${hashes.whole.size} hashes, the record's seal among them; all are in the attached record.`
  return { id: PRINTED_HASHES_ID, result: "pass", message }
}

/** @param unvouched the added checks that failed for want of a trusted key */
function withChecks(report: Report, added: readonly Check[], unvouched: readonly CheckId[]): Report {
  const checks = [...report.checks, ...added]
  const limitations = [...report.limitations, limitation("pages_rendered")]
  const failed = added.find(({ result }) => result === "fail")
  if (failed === undefined) return { ...report, checks, limitations }
  return {
    ...report,
    checks,
    limitations,
    verdict: VERDICTS.failed,
    first_failure: report.first_failure ?? failed.id,
    ...(unvouched.length === 0 ? {} : { unvouched: [...(report.unvouched ?? []), ...unvouched] }),
  }
}
