/**
 * Verifies an audit report in PDF: the service's signature over the whole file, and the record at its fixed place. The record is the
 * evidence. The pages are the service's words: they are signed, and nothing in them is read.
 */

import { equalBytes, sha256 } from "@runseal/canonical"
import { derIn, derItems, readingDer, TAG } from "@runseal/log/keys/der"
import { isLowS } from "@runseal/log/keys/ecdsa-der"
import { verifyEcdsaP256 } from "@runseal/log/keys/signatures"
import { type Certificate, parseCertificate } from "@runseal/log/keys/x509-certificate"
import type { ServiceKey, TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { bundleOf, isUnreadable, verifyText } from "../verify/document.ts"
import type { Unreadable } from "../verify/parsed-text.ts"
import { type Check, limitation, REPORT_SIGNATURE_ID, type Report, VERDICTS } from "../verify/report.ts"
import { clockSeconds } from "../vocabulary/scalars.ts"
import { type ReportParts, readLayout, signedBytes, signingTime } from "./report-layout.ts"
import { certificateBody, certificateDer, signedAttributes, signedDataDer } from "./signature-der.ts"

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

// The report's signature: by a service key that the reader trusts, over the whole file, in the one spelling there is. docs/formats.md section 11.

/** The parts of a report's signature, not yet checked. */
type ReportSignature = {
  readonly certificate: Certificate
  readonly signature: Uint8Array
  /** With what follows it in its room. */
  readonly room: Uint8Array
  /** SHA-256 of what it covers. */
  readonly digest: Uint8Array
  /** The time of /M. */
  readonly time: string
}

/** Takes a signature out of its room; undefined when no such thing is in it. Never throws. */
function readReportSignature(pdf: Uint8Array, { room, time }: ReportParts): ReportSignature | undefined {
  const found = readingDer(() => {
    const whole = derItems(derItems(room).next(TAG.sequence).content)
    whole.next(TAG.oid)
    const data = derItems(derIn(whole.next(TAG.constructed).content, TAG.sequence).content)
    for (const tag of [TAG.integer, TAG.set, TAG.sequence]) data.next(tag)
    const certificate = derIn(data.next(TAG.constructed).content, TAG.sequence).raw
    const signer = derItems(derIn(data.next(TAG.set).content, TAG.sequence).content)
    for (const tag of [TAG.integer, TAG.sequence, TAG.sequence, TAG.constructed, TAG.sequence]) signer.next(tag)
    return { certificate, signature: signer.next(TAG.octetString).content }
  })
  const certificate = found && parseCertificate(found.certificate)
  if (found === undefined || certificate === undefined) return undefined
  return { certificate, signature: found.signature, room, digest: sha256(signedBytes(pdf)), time }
}

/** The trust documents that list the key which a report names, with that key. */
const signersOf = (
  { certificate: { key } }: ReportSignature,
  trusts: readonly TrustedKeys[],
): readonly { readonly trust: TrustedKeys; readonly key: ServiceKey }[] =>
  trusts.flatMap(trust => {
    const found = trust.serviceKeys.find(({ spki }) => equalBytes(spki, key.spki))
    return found === undefined ? [] : [{ trust, key: found }]
  })

/**
 * What is wrong with a signature under a key and the log's origin of one trust document; undefined when nothing is.
 * @param recordSeconds when the report's record was made, Unix seconds
 */
function signatureProblem(
  { certificate, signature, room, digest, time }: ReportSignature,
  key: ServiceKey,
  origin: string,
  recordSeconds: number,
): string | undefined {
  const facts = { spki: key.spki, validFrom: certificate.notBefore, origin }
  const wanted = certificateDer(facts, certificate.signature)
  if (!equalBytes(certificate.der, wanted)) return "The signature's certificate is not as this service writes it."
  const cms = signedDataDer({ facts, certificate: certificate.der, digest, signature })
  const isSpelled = equalBytes(room.subarray(0, cms.length), cms) && room.subarray(cms.length).every(byte => byte === 0)
  if (!isSpelled)
    return "The file is not the one that was signed, or its signature is spelled in another way than ours."
  const certified =
    isLowS(certificate.signature) && verifyEcdsaP256(key.spki, certificateBody(facts), certificate.signature)
  if (!certified) return "The certificate's own signature is not that of the service key."
  if (!isLowS(signature) || !verifyEcdsaP256(key.spki, signedAttributes(digest, certificate.der), signature))
    return "The signature is not that of the service key."
  // Nothing dates the signature: the holder of a revoked key can sign today with a time before the revocation.
  if (key.revokedFrom !== undefined)
    return "The service key that signed the report was revoked, and nothing dates the signature."
  if (key.validTo !== undefined && recordSeconds > key.validTo)
    return "The service key that signed the report was no longer in use when the record was made."
  if (certificate.notBefore !== key.validFrom)
    return "The certificate gives the service key another beginning than you trust."
  return time === signingTime(recordSeconds, key.validFrom)
    ? undefined
    : "The signature states a time that is not the record's."
}
