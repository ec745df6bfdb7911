/** Timestamp authorities that a trusted root lists, each with the chain of its certificates. */
import { equalBytes } from "@runseal/canonical"
import { verifySignature } from "#signatures"
import type { Validity } from "../keys/validity.ts"
import { type Certificate, KEY_USAGE, parseCertificate } from "../keys/x509-certificate.ts"

/** Fewest and most certificates of one authority: the signer's, and its issuers' up to the root. */
export const AUTHORITY_CERTIFICATES = [2, 8] as const

/** A timestamp authority, as a Sigstore trusted root lists it. */
export interface TimestampAuthority extends Validity {
  /** Address for requests. */
  readonly uri: string
  /** Certificates in DER, the signer's first, the root last. */
  readonly certificates: readonly Uint8Array[]
}

/** An authority with its chain parsed and checked. */
export interface OpenAuthority {
  /** Why no timestamp of it is accepted. */
  readonly problem: string | undefined
  readonly certificates: readonly Certificate[]
  readonly signer: Certificate | undefined
  /** When all certificates were valid, in Unix seconds, both ends included. */
  readonly validFrom: number
  readonly validTo: number
}

const opened = new WeakMap<TimestampAuthority, OpenAuthority>()

/** Reads and checks the chain, the first time. Never throws. */
export function openAuthority(authority: TimestampAuthority): OpenAuthority {
  const known = opened.get(authority)
  if (known !== undefined) return known
  const certificates = authority.certificates.map(parseCertificate).filter(certificate => certificate !== undefined)
  const result: OpenAuthority = {
    problem: chainProblem(certificates, authority.certificates.length),
    certificates,
    signer: certificates[0],
    validFrom: Math.max(authority.validFrom, ...certificates.map(({ notBefore }) => notBefore)),
    validTo: Math.min(authority.validTo ?? Number.POSITIVE_INFINITY, ...certificates.map(({ notAfter }) => notAfter)),
  }
  opened.set(authority, result)
  return result
}

/** RFC 5280 §6.1 without policies, name constraints and revocation, and RFC 3161 §2.3. Time is another check. */
function chainProblem(chain: readonly Certificate[], count: number): string | undefined {
  const [least, most] = AUTHORITY_CERTIFICATES
  const [signer] = chain
  if (chain.length < count) return "A certificate of the timestamp authority is none that is known here."
  if (signer === undefined || count < least || count > most)
    return `A timestamp authority has ${least} to ${most} certificates.`
  if (!signer.isForTimestamps) return "The timestamp authority's certificate is not for timestamps alone."
  if (!signer.mayUse(KEY_USAGE.digitalSignature) && !signer.mayUse(KEY_USAGE.contentCommitment))
    return "The timestamp authority's certificate is not for signatures."
  for (const [at, certificate] of chain.entries()) {
    // The root signs itself.
    const issuer = chain[at + 1] ?? certificate
    const between = issuer === certificate ? 0 : at
    if (certificate.hasUnknownCritical)
      return "A certificate of the timestamp authority has a critical extension that is not known here."
    if (!issuer.isCa || !issuer.mayUse(KEY_USAGE.keyCertSign) || issuer.maxBelow < between)
      return "A certificate above the timestamp authority's may not sign it."
    if (!equalBytes(certificate.issuer, issuer.subject))
      return "The certificates of the timestamp authority are not a chain from its own to the root."
    if (!verifySignature(issuer.key, certificate.algorithm, certificate.signed, certificate.signature))
      return "A signature in the chain of the timestamp authority is not valid."
  }
  return undefined
}
