/**
 * Timestamps of RFC 3161: that some bytes were there at a time, by the word of an authority. A timestamp is the DER of a whole
 * TimeStampResp, as a Sigstore bundle holds it. What no signature covers in it has one value, so that a changed byte shows.
 */
import { concatBytes, decodeBase64, equalBytes } from "@runseal/canonical"
import { digest, verifySignature } from "#signatures"
import {
  DerError,
  type DerItems,
  type DerValue,
  derIn,
  derItems,
  derList,
  formatDer,
  isTrue,
  magnitudeOf,
  readingDer,
  secondsOf,
  smallIntegerOf,
  TAG,
} from "./der.ts"
import { type HashName, hashIn, oidIn, type SignatureAlgorithm, signerAlgorithmIn } from "./signer-key.ts"
import { type OpenAuthority, openAuthority, type TimestampAuthority } from "./timestamp-authority.ts"

/** Largest TimeStampResp read, in bytes: one with four certificates takes some 6,000. */
export const MAX_TIMESTAMP_BYTES = 12_288

/** A timestamp taken apart, unchecked. */
export interface Timestamp {
  /** Unix seconds, rounded down. */
  readonly time: number
  /** SHA-256 of what is timestamped. */
  readonly imprint: Uint8Array
  /** Of the request, without leading zeros. */
  readonly nonce: Uint8Array | undefined
  /** What names its certificate: issuer and serial number, in DER. */
  readonly issuer: Uint8Array
  readonly serial: Uint8Array
  readonly certificates: readonly Uint8Array[]
  readonly info: Uint8Array
  readonly hash: HashName
  /** Of `info`, by `hash`. */
  readonly infoDigest: Uint8Array
  /** Hash and value of what a signing-certificate attribute says of the signer's certificate. */
  readonly signingCertificate: { readonly hash: HashName; readonly value: Uint8Array } | undefined
  /** The signed attributes as they were signed: a SET OF. */
  readonly signed: Uint8Array
  readonly algorithm: SignatureAlgorithm
  readonly signature: Uint8Array
}

/** What a timestamp proves. */
export interface TimestampFacts {
  /** Unix seconds, rounded down. */
  readonly time: number
  readonly authority: TimestampAuthority
}

/** Object identifiers as the hex of their content octets. */
const SIGNED_DATA = "2a864886f70d010702"
const TST_INFO = "2a864886f70d0109100104"
const CONTENT_TYPE = "2a864886f70d010903"
const MESSAGE_DIGEST = "2a864886f70d010904"
const SIGNING_CERTIFICATE_V2 = "2a864886f70d010910022f"
/** Versions: of a TSTInfo; of a SignedData with its content type; of a SignerInfo that names an issuer. */
const [INFO_VERSION, DATA_VERSION, SIGNER_VERSION] = [1, 3, 1]
/** PKIStatusInfo that says granted, and nothing else. */
export const GRANTED_STATUS: Uint8Array = formatDer(TAG.sequence, formatDer(TAG.integer, Uint8Array.of(0)))
/** Certificates read of one timestamp. */
const MAX_CERTIFICATES = 8

/** Reads a timestamp in the form in which it is kept; undefined for anything else. Never throws. */
export function parseTimestamp(der: Uint8Array): Timestamp | undefined {
  return der.length > MAX_TIMESTAMP_BYTES ? undefined : readingDer(() => timestampIn(der))
}

/** The time that a timestamp names, in Unix seconds, unchecked; undefined for what is none. @param base64 as records hold it */
export function timeOfTimestamp(base64: string): number | undefined {
  const der = decodeBase64(base64)
  return der && parseTimestamp(der)?.time
}

/**
 * Who stamped these bytes, and when; a problem in one sentence when it was nobody of `authorities`, or anything does not hold.
 * Never throws. Costs one signature check, and those of an authority's chain the first time.
 * @param nonce of the request, for who asked
 */
export function verifyTimestamp(
  der: Uint8Array,
  bytes: Uint8Array,
  authorities: readonly TimestampAuthority[],
  nonce?: Uint8Array,
): TimestampFacts | { readonly problem: string } {
  const timestamp = parseTimestamp(der)
  if (timestamp === undefined) return { problem: "The timestamp is not one of RFC 3161 in its kept form." }
  const { issuer, serial, time } = timestamp
  const named = authorities.filter(authority => {
    const { signer } = openAuthority(authority)
    return signer !== undefined && equalBytes(signer.issuer, issuer) && equalBytes(signer.serial, serial)
  })
  const problems = named.map(authority => ({
    authority,
    problem: timestampProblem(timestamp, bytes, openAuthority(authority)),
  }))
  const good = problems.find(({ problem }) => problem === undefined)
  if (good === undefined)
    return { problem: problems[0]?.problem ?? "The timestamp is of no authority that the trust document lists." }
  if (nonce !== undefined && !(timestamp.nonce && equalBytes(timestamp.nonce, nonce)))
    return { problem: "The timestamp answers another request." }
  return { time, authority: good.authority }
}

function timestampProblem(
  timestamp: Timestamp,
  bytes: Uint8Array,
  { signer, certificates, problem, validFrom, validTo }: OpenAuthority,
): string | undefined {
  if (signer === undefined || problem !== undefined) return problem ?? "The authority has no certificate."
  const { time, imprint, info, infoDigest, hash, algorithm, signed, signature, signingCertificate } = timestamp
  if (!equalBytes(imprint, digest("sha256", bytes))) return "The timestamp is over other bytes."
  if (!equalBytes(infoDigest, digest(hash, info))) return "What the timestamp signs is not what it says."
  if (!verifySignature(signer.key, algorithm, signed, signature)) return "The signature of the timestamp is not valid."
  if (time < validFrom || time > validTo) return "A certificate of the timestamp authority was not valid at its time."
  if (!timestamp.certificates.every(one => certificates.some(({ der }) => equalBytes(der, one))))
    return "The timestamp carries a certificate that is none of its authority's."
  if (signingCertificate === undefined) return undefined
  const same = equalBytes(signingCertificate.value, digest(signingCertificate.hash, signer.der))
  return same ? undefined : "The timestamp names another certificate than its authority's."
}

function timestampIn(der: Uint8Array): Timestamp {
  const whole = derItems(derIn(der, TAG.sequence).content)
  if (!equalBytes(whole.next(TAG.sequence).raw, GRANTED_STATUS)) throw new DerError()
  const token = whole.next(TAG.sequence)
  whole.end()
  const { info, certificates, digestHash, signer } = tokenIn(token)
  return { ...infoIn(info), info, certificates, ...signerIn(signer, digestHash) }
}

interface Token {
  readonly info: Uint8Array
  readonly certificates: readonly Uint8Array[]
  readonly digestHash: HashName
  readonly signer: DerValue
}

/** RFC 5652 §5.1: a SignedData with one signer, without revocation lists. */
function tokenIn({ content }: DerValue): Token {
  const items = derItems(content)
  expectOid(items.next(TAG.oid), SIGNED_DATA)
  const data = derItems(derIn(items.next(TAG.constructed).content, TAG.sequence).content)
  items.end()
  expectVersion(data, DATA_VERSION)
  const digestHash = hashIn(derIn(data.next(TAG.set).content, TAG.sequence))
  const encapsulated = derItems(data.next(TAG.sequence).content)
  expectOid(encapsulated.next(TAG.oid), TST_INFO)
  const info = derIn(encapsulated.next(TAG.constructed).content, TAG.octetString).content
  encapsulated.end()
  const certificates = derList(data.nextIf(TAG.constructed)?.content ?? new Uint8Array(), TAG.sequence)
  const signer = derIn(data.next(TAG.set).content, TAG.sequence)
  data.end()
  if (certificates.length > MAX_CERTIFICATES) throw new DerError()
  return { info, certificates: certificates.map(({ raw }) => raw), digestHash, signer }
}

/** RFC 5652 §5.3: a SignerInfo with signed attributes, and none that are not. */
function signerIn(
  { content }: DerValue,
  digestHash: HashName,
): Omit<Timestamp, keyof ReturnType<typeof infoIn> | "info" | "certificates"> {
  const items = derItems(content)
  expectVersion(items, SIGNER_VERSION)
  const name = derItems(items.next(TAG.sequence).content)
  const [issuer, serial] = [name.next(TAG.sequence).raw, name.next(TAG.integer).raw]
  name.end()
  const hash = hashIn(items.next(TAG.sequence))
  const attributes = items.next(TAG.constructed)
  const algorithm = signerAlgorithmIn(items.next(TAG.sequence), hash)
  const signature = items.next(TAG.octetString).content
  items.end()
  if (hash !== digestHash) throw new DerError()
  const signed = concatBytes(Uint8Array.of(TAG.set), attributes.raw.subarray(1))
  return { issuer, serial, hash, algorithm, signature, signed, ...attributesIn(attributes) }
}

function attributesIn({ content }: DerValue): Pick<Timestamp, "infoDigest" | "signingCertificate"> {
  const attributes = derList(content, TAG.sequence).map(attribute => {
    const items = derItems(attribute.content)
    const [id, values] = [oidIn(items.next(TAG.oid)), items.next(TAG.set).content]
    items.end()
    return { id, values }
  })
  const onlyValue = (id: string): Uint8Array | undefined => {
    const [found, ...more] = attributes.filter(attribute => attribute.id === id)
    if (more.length > 0) throw new DerError()
    return found?.values
  }
  const [type, infoDigest] = [onlyValue(CONTENT_TYPE), onlyValue(MESSAGE_DIGEST)]
  if (type === undefined || infoDigest === undefined) throw new DerError()
  expectOid(derIn(type, TAG.oid), TST_INFO)
  const certificate = onlyValue(SIGNING_CERTIFICATE_V2)
  return {
    infoDigest: derIn(infoDigest, TAG.octetString).content,
    signingCertificate: certificate && signingCertificateIn(derIn(certificate, TAG.sequence)),
  }
}

/** RFC 5035 §3: the first ESSCertIDv2 is the signer's; without a hash it is SHA-256. */
function signingCertificateIn({ content }: DerValue): Timestamp["signingCertificate"] {
  const [first] = derList(derItems(content).next(TAG.sequence).content, TAG.sequence)
  if (first === undefined) throw new DerError()
  const items = derItems(first.content)
  const algorithm = items.nextIf(TAG.sequence)
  return {
    hash: algorithm === undefined ? "sha256" : hashIn(algorithm),
    value: items.next(TAG.octetString).content,
  }
}

/** RFC 3161 §2.4.2. */
function infoIn(der: Uint8Array): Pick<Timestamp, "time" | "imprint" | "nonce"> {
  const items = derItems(derIn(der, TAG.sequence).content)
  expectVersion(items, INFO_VERSION)
  items.next(TAG.oid)
  const imprint = derItems(items.next(TAG.sequence).content)
  const [hash, value] = [hashIn(imprint.next(TAG.sequence)), imprint.next(TAG.octetString).content]
  imprint.end()
  items.next(TAG.integer)
  const time = secondsOf(items.next(TAG.generalizedTime))
  items.nextIf(TAG.sequence)
  const ordering = items.nextIf(TAG.boolean)
  if (ordering !== undefined) isTrue(ordering)
  const nonce = items.nextIf(TAG.integer)
  items.nextIf(TAG.constructed)
  const extensions = items.nextIf(TAG.constructed + 1)
  items.end()
  // None is known here, and one may change what the rest means.
  if (hash !== "sha256" || extensions !== undefined) throw new DerError()
  return { time, imprint: value, nonce: nonce && magnitudeOf(nonce) }
}

function expectVersion(items: DerItems, version: number): void {
  if (smallIntegerOf(items.next(TAG.integer)) !== version) throw new DerError()
}

function expectOid(value: DerValue, expected: string): void {
  if (oidIn(value) !== expected) throw new DerError()
}
