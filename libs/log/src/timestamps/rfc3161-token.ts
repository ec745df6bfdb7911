/**
 * Reads a TimeStampResp of RFC 3161, and writes it in its one stored form. Parts that no signature covers have a fixed value there,
 * so that a timestamp has no second spelling.
 */
import { concatBytes, decodeHex } from "@runseal/canonical"
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
  secondsOf,
  smallIntegerOf,
  TAG,
} from "../keys/der.ts"
import {
  algorithmDer,
  type HashName,
  hashDer,
  hashIn,
  oidIn,
  type SignatureAlgorithm,
  signerAlgorithmIn,
} from "../keys/signer-key.ts"

/** A parsed timestamp, unchecked. */
export interface Timestamp {
  /** Unix seconds, rounded down. */
  readonly time: number
  /** SHA-256 of the timestamped bytes. */
  readonly imprint: Uint8Array
  /** Of the request, without leading zeros. */
  readonly nonce: Uint8Array | undefined
  /** Identifies the signer's certificate: issuer and serial number, in DER. */
  readonly issuer: Uint8Array
  readonly serial: Uint8Array
  readonly info: Uint8Array
  readonly hash: HashName
  /** Digest of `info` by `hash`. */
  readonly infoDigest: Uint8Array
  /** Hash algorithm and hash of the signer's certificate, from a signing-certificate attribute. */
  readonly signingCertificate: { readonly hash: HashName; readonly value: Uint8Array } | undefined
  /** The signed attributes as they were signed: a SET OF. */
  readonly signed: Uint8Array
  readonly algorithm: SignatureAlgorithm
  readonly signature: Uint8Array
}

/** Object identifiers as the hex of their content octets. */
const SIGNED_DATA = "2a864886f70d010702"
const TST_INFO = "2a864886f70d0109100104"
const CONTENT_TYPE = "2a864886f70d010903"
const MESSAGE_DIGEST = "2a864886f70d010904"
const SIGNING_CERTIFICATE_V2 = "2a864886f70d010910022f"
const GRANTED = 0
/** Versions: of a TSTInfo; of a SignedData with its content type; of a SignerInfo that names an issuer. */
const [INFO_VERSION, DATA_VERSION, SIGNER_VERSION] = [1, 3, 1]

/** Reads an authority's answer, in any form that can be converted to the stored one. @throws DerError for anything else */
export function timestampIn(der: Uint8Array): Timestamp {
  const whole = derItems(derIn(der, TAG.sequence).content)
  const status = derItems(whole.next(TAG.sequence).content)
  // A free text may follow.
  if (smallIntegerOf(status.next(TAG.integer)) !== GRANTED) throw new DerError()
  const token = whole.next(TAG.sequence)
  whole.end()
  const { info, digestHash, signer } = tokenIn(token)
  return { ...infoIn(info), info, ...signerIn(signer, digestHash) }
}

/**
 * The stored form of a timestamp: granted without free text, hashes named without parameters (RFC 5754 §2), RSA under its general name
 * (RFC 3370 §3.2), and no certificates, since the trust document lists them.
 */
export function storedForm({ info, issuer, serial, hash, algorithm, signed, signature }: Timestamp): Uint8Array {
  const attributes = concatBytes(Uint8Array.of(TAG.constructed), signed.subarray(1))
  const signer = formatDer(
    TAG.sequence,
    integerOf(SIGNER_VERSION),
    formatDer(TAG.sequence, issuer, serial),
    hashDer(hash),
    attributes,
    algorithmDer(algorithm),
    formatDer(TAG.octetString, signature),
  )
  const data = formatDer(
    TAG.sequence,
    integerOf(DATA_VERSION),
    formatDer(TAG.set, hashDer(hash)),
    formatDer(TAG.sequence, oidOf(TST_INFO), formatDer(TAG.constructed, formatDer(TAG.octetString, info))),
    formatDer(TAG.set, signer),
  )
  const token = formatDer(TAG.sequence, oidOf(SIGNED_DATA), formatDer(TAG.constructed, data))
  return formatDer(TAG.sequence, formatDer(TAG.sequence, integerOf(GRANTED)), token)
}

const integerOf = (small: number): Uint8Array => formatDer(TAG.integer, Uint8Array.of(small))
const oidOf = (hex: string): Uint8Array => formatDer(TAG.oid, decodeHex(hex) ?? new Uint8Array())

interface Token {
  readonly info: Uint8Array
  readonly digestHash: HashName
  readonly signer: DerValue
}

/** RFC 5652 §5.1: a SignedData with one signer and no revocation lists. Its certificates are ignored. */
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
  data.nextIf(TAG.constructed)
  const signer = derIn(data.next(TAG.set).content, TAG.sequence)
  data.end()
  return { info, digestHash, signer }
}

/** RFC 5652 §5.3: a SignerInfo with signed attributes, and no unsigned ones. */
function signerIn(
  { content }: DerValue,
  digestHash: HashName,
): Omit<Timestamp, keyof ReturnType<typeof infoIn> | "info"> {
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
  // An unknown extension could change the meaning of the rest.
  if (hash !== "sha256" || extensions !== undefined) throw new DerError()
  return { time, imprint: value, nonce: nonce && magnitudeOf(nonce) }
}

function expectVersion(items: DerItems, version: number): void {
  if (smallIntegerOf(items.next(TAG.integer)) !== version) throw new DerError()
}

function expectOid(value: DerValue, expected: string): void {
  if (oidIn(value) !== expected) throw new DerError()
}
