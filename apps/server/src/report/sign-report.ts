/**
 * Signs reports with the service key: PAdES baseline B-B, docs/formats.md section 11. What the key signs here is DER, which
 * begins with 0x30 or 0x31: it can be taken for no leaf, which is a JSON text, for no checkpoint and for no DSSE encoding.
 */
import { sha256 } from "@runseal/canonical"
import {
  type CertificateFacts,
  certificateBody,
  certificateDer,
  signedAttributes,
  signedDataDer,
} from "@runseal/core/report-pdf/signature-der"
import { rangeOf, signedBytes, withSignature } from "@runseal/core/report-pdf/signature-object"

/** Signs, the same message always with the same bytes. */
export type SignBytes = (message: Uint8Array) => Promise<Uint8Array>

/** A report as it was drawn, with its signature. */
export type SignReport = (drawn: Uint8Array) => Promise<Uint8Array<ArrayBuffer>>

/** Signs reports. Rejects with whatever `sign` rejects with; then nothing was signed, and the next report tries again. */
export function reportSigner(facts: CertificateFacts, sign: SignBytes): SignReport {
  let made: Promise<Uint8Array> | undefined
  const make = async (): Promise<Uint8Array> => certificateDer(facts, await sign(certificateBody(facts)))
  const certificateOnce = async (): Promise<Uint8Array> => {
    made ??= make()
    try {
      return await made
    } catch (error) {
      made = undefined
      throw error
    }
  }
  return async drawn => {
    const certificate = await certificateOnce()
    const range = rangeOf(drawn)
    const digest = sha256(signedBytes(drawn, range))
    const signature = await sign(signedAttributes(digest, certificate))
    return withSignature(drawn, range, signedDataDer({ facts, certificate, digest, signature }))
  }
}
