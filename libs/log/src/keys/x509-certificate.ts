/** X.509 certificates of timestamp authorities (RFC 5280), as much as RFC 3161 needs. */
import { equalBytes } from "@runseal/canonical"
import {
  bitsOf,
  DerError,
  type DerItems,
  type DerValue,
  derIn,
  derItems,
  derList,
  isTrue,
  readingDer,
  secondsOf,
  smallIntegerOf,
  TAG,
} from "./der.ts"
import { oidIn, type SignatureAlgorithm, type SignerKey, signatureAlgorithmIn, signerKeyIn } from "./signer-key.ts"

/** Largest certificate read, in bytes. */
export const MAX_CERTIFICATE_BYTES = 4096

/** A parsed certificate, unchecked. */
export interface Certificate {
  readonly der: Uint8Array
  /** The bytes that its issuer signed. */
  readonly signed: Uint8Array
  readonly algorithm: SignatureAlgorithm
  readonly signature: Uint8Array
  /** Names and serial number in DER: equal bytes are equal names here. */
  readonly issuer: Uint8Array
  readonly subject: Uint8Array
  readonly serial: Uint8Array
  /** Unix seconds, both included. */
  readonly notBefore: number
  readonly notAfter: number
  readonly key: SignerKey
  /** Whether it may sign certificates, and how many issuers may be between it and the last certificate. */
  readonly isCa: boolean
  readonly maxBelow: number
  /** Whether its key usage allows this bit; a certificate without key usage allows all. */
  readonly mayUse: (bit: KeyUsage) => boolean
  /** Whether it is for timestamps only. */
  readonly isForTimestamps: boolean
  /** Whether it has a critical extension that this code does not know. */
  readonly hasUnknownCritical: boolean
  readonly organization: string
  readonly commonName: string
}

/** Bits of a key usage, RFC 5280 §4.2.1.3, from the left. */
export const KEY_USAGE = { digitalSignature: 0, contentCommitment: 1, keyCertSign: 5 } as const
export type KeyUsage = (typeof KEY_USAGE)[keyof typeof KEY_USAGE]

const VERSION_3 = 2
const KEY_USAGE_OID = "551d0f"
const BASIC_CONSTRAINTS = "551d13"
const EXTENDED_KEY_USAGE = "551d25"
/** Any policy is accepted, so that this extension may be critical. */
const POLICIES = "551d20"
const KNOWN = [KEY_USAGE_OID, BASIC_CONSTRAINTS, EXTENDED_KEY_USAGE, POLICIES]
const TIME_STAMPING = "2b06010505070308"
const ORGANIZATION = "55040a"
const COMMON_NAME = "550403"
const MAX_NAME_BYTES = 128

/** Reads a certificate of version 3; undefined for anything else. Never throws. */
export function parseCertificate(der: Uint8Array): Certificate | undefined {
  return der.length > MAX_CERTIFICATE_BYTES ? undefined : readingDer(() => certificateIn(der))
}

function certificateIn(der: Uint8Array): Certificate {
  const whole = derItems(derIn(der, TAG.sequence).content)
  const signed = whole.next(TAG.sequence)
  const algorithm = whole.next(TAG.sequence)
  const signature = bitsOf(whole.next(TAG.bitString))
  whole.end()
  const body = derItems(signed.content)
  const version = smallIntegerOf(derIn(body.next(TAG.constructed).content, TAG.integer))
  const serial = body.next(TAG.integer).raw
  const named = body.next(TAG.sequence)
  // RFC 5280 §4.1.1.2: the algorithm is written twice, and both must be the same.
  if (version !== VERSION_3 || !equalBytes(named.raw, algorithm.raw)) throw new DerError()
  const issuer = body.next(TAG.sequence).raw
  const validity = derItems(body.next(TAG.sequence).content)
  const [notBefore, notAfter] = [timeIn(validity), timeIn(validity)]
  validity.end()
  const subject = body.next(TAG.sequence)
  const key = signerKeyIn(body.next(TAG.sequence))
  body.nextIf(TAG.context + 1)
  body.nextIf(TAG.context + 2)
  const extensions = extensionsIn(body.nextIf(TAG.constructed + 3))
  body.end()
  const found = (id: string): Extension | undefined => extensions.find(extension => extension.id === id)
  return {
    der,
    signed: signed.raw,
    algorithm: signatureAlgorithmIn(algorithm),
    signature,
    issuer,
    subject: subject.raw,
    serial,
    notBefore,
    notAfter,
    key,
    ...constraintsIn(found(BASIC_CONSTRAINTS)),
    mayUse: usageIn(found(KEY_USAGE_OID)),
    isForTimestamps: isForTimestamps(found(EXTENDED_KEY_USAGE)),
    hasUnknownCritical: extensions.some(({ id, critical }) => critical && !KNOWN.includes(id)),
    organization: nameIn(subject, ORGANIZATION),
    commonName: nameIn(subject, COMMON_NAME),
  }
}

const timeIn = (validity: DerItems): number =>
  secondsOf(validity.nextIf(TAG.utcTime) ?? validity.next(TAG.generalizedTime))

interface Extension {
  readonly id: string
  readonly critical: boolean
  readonly value: Uint8Array
}

function extensionsIn(value: DerValue | undefined): readonly Extension[] {
  if (value === undefined) return []
  const extensions = derList(derIn(value.content, TAG.sequence).content, TAG.sequence).map(({ content }) => {
    const items = derItems(content)
    const id = oidIn(items.next(TAG.oid))
    const flag = items.nextIf(TAG.boolean)
    const extension = { id, critical: flag !== undefined && isTrue(flag), value: items.next(TAG.octetString).content }
    items.end()
    return extension
  })
  if (new Set(extensions.map(({ id }) => id)).size < extensions.length) throw new DerError()
  return extensions
}

function constraintsIn(extension: Extension | undefined): Pick<Certificate, "isCa" | "maxBelow"> {
  if (extension === undefined) return { isCa: false, maxBelow: 0 }
  const items = derItems(derIn(extension.value, TAG.sequence).content)
  const flag = items.nextIf(TAG.boolean)
  const length = items.nextIf(TAG.integer)
  items.end()
  const isCa = flag !== undefined && isTrue(flag)
  return { isCa, maxBelow: length === undefined ? Number.POSITIVE_INFINITY : smallIntegerOf(length) }
}

function usageIn(extension: Extension | undefined): Certificate["mayUse"] {
  if (extension === undefined) return () => true
  const [unused = 0, first = 0] = derIn(extension.value, TAG.bitString).content
  return bit => unused < 8 && (first & (0x80 >> bit)) !== 0
}

/** RFC 3161 §2.3: that purpose alone, and critical. */
function isForTimestamps(extension: Extension | undefined): boolean {
  if (extension === undefined) return false
  const purposes = derList(derIn(extension.value, TAG.sequence).content, TAG.oid).map(oidIn)
  return extension.critical && purposes.length === 1 && purposes[0] === TIME_STAMPING
}

/** The first value of this kind in a name, printable ASCII characters only; "" when there is none. */
function nameIn({ content }: DerValue, kind: string): string {
  for (const set of derList(content, TAG.set)) {
    for (const pair of derList(set.content, TAG.sequence)) {
      const items = derItems(pair.content)
      const [id, value] = [oidIn(items.next(TAG.oid)), items.take()]
      if (id === kind) return String.fromCharCode(...value.content.subarray(0, MAX_NAME_BYTES)).replace(/[^ -~]/g, "")
    }
  }
  return ""
}
