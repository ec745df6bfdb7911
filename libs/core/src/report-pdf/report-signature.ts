/**
 * Checks a report's signature: by a service key that the reader trusts, over the whole file, in the one spelling there is.
 * docs/formats.md section 11.
 */
import { equalBytes, sha256 } from "@runseal/canonical"
import { derIn, derItems, readingDer, TAG } from "@runseal/log/keys/der"
import { isLowS } from "@runseal/log/keys/ecdsa-der"
import { verifyEcdsaP256 } from "@runseal/log/keys/signatures"
import { type Certificate, parseCertificate } from "@runseal/log/keys/x509-certificate"
import type { ServiceKey, TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { type ReportParts, signedBytes, signingTime } from "./report-layout.ts"
import { certificateBody, certificateDer, signedAttributes, signedDataDer } from "./signature-der.ts"

/** The parts of a report's signature, not yet checked. */
export type ReportSignature = {
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
export function readReportSignature(pdf: Uint8Array, { room, time }: ReportParts): ReportSignature | undefined {
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
export const signersOf = (
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
export function signatureProblem(
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
