/**
 * The contents of a report's signature, in DER: a certificate of the service key, signed by itself (RFC 5280), and a detached CMS
 * SignedData (RFC 5652) with the three signed attributes of a CAdES baseline signature (ETSI EN 319 122-1 §6.3, level B-B; RFC 5035).
 * Each is written in exactly one way from what it says: a verifier writes it again and compares the bytes.
 */
import { concatBytes, decodeHex, encodeHex, sha256, utf8Encode } from "@runseal/canonical"
import { formatDer, TAG } from "@runseal/log/keys/der"
import { hashDer } from "@runseal/log/keys/signer-key"
import { keyIdOfSpki } from "@runseal/log/keys/spki"
import { formatUtcSeconds } from "@runseal/log/keys/validity"
import { parseOrigin } from "@runseal/log/notes/checkpoint"

/** What a certificate says, and all of it. */
export type CertificateFacts = {
  /** SubjectPublicKeyInfo of the service key, DER, ECDSA P-256. */
  readonly spki: Uint8Array
  /** Unix seconds from which the key counts. */
  readonly validFrom: number
  /** Origin of the service's log. */
  readonly origin: string
}

/** Object identifiers as the hex of their content octets. */
const OID = {
  commonName: "550403",
  serialNumber: "550405",
  keyUsage: "551d0f",
  ecdsaWithSha256: "2a8648ce3d040302",
  data: "2a864886f70d010701",
  signedData: "2a864886f70d010702",
  contentType: "2a864886f70d010903",
  messageDigest: "2a864886f70d010904",
  signingCertificateV2: "2a864886f70d010910022f",
} as const
/** Tags that only these documents use. */
const [UTF8_STRING, PRINTABLE_STRING] = [0x0c, 0x13]
/** X.520 bounds a common name so; a longer host is cut. RFC 5280 §A.1, ub-common-name. */
const MAX_COMMON_NAME_LENGTH = 64
/** RFC 5280 §4.1.2.5: no end is known. Who may still use the key is what trust documents say. */
const NO_END = "99991231235959Z"
/** Two digits of a year are of this century up to here, and a UTCTime must be used. RFC 5280 §4.1.2.5. */
const FIRST_SECOND_OF_2050 = 2_524_608_000
const SERIAL_BYTES = 16
const [VERSION_3, SIGNED_DATA_VERSION, SIGNER_VERSION] = [2, 1, 1]

const sequence = (...parts: readonly Uint8Array[]): Uint8Array => formatDer(TAG.sequence, ...parts)
const set = (...parts: readonly Uint8Array[]): Uint8Array => formatDer(TAG.set, ...parts)
const oid = (hex: string): Uint8Array => formatDer(TAG.oid, decodeHex(hex) ?? new Uint8Array())
const integer = (small: number): Uint8Array => formatDer(TAG.integer, Uint8Array.of(small))
const bits = (bytes: Uint8Array): Uint8Array => formatDer(TAG.bitString, Uint8Array.of(0), bytes)
const ECDSA = sequence(oid(OID.ecdsaWithSha256))

/** Issuer and subject: the log's host, and the key by its id. */
function nameOf({ spki, origin }: CertificateFacts): Uint8Array {
  const host = (parseOrigin(origin)?.host ?? origin).slice(0, MAX_COMMON_NAME_LENGTH)
  const part = (type: string, tag: number, text: string): Uint8Array =>
    set(sequence(oid(type), formatDer(tag, utf8Encode(text))))
  const keyId = encodeHex(keyIdOfSpki(spki))
  return sequence(part(OID.commonName, UTF8_STRING, host), part(OID.serialNumber, PRINTABLE_STRING, keyId))
}

/** From the key, so that a key has one certificate: positive, and no shorter for a small first byte. */
function serialOf(spki: Uint8Array): Uint8Array {
  const digits = keyIdOfSpki(spki).slice(0, SERIAL_BYTES)
  digits[0] = ((digits[0] ?? 0) & 0x3f) | 0x40
  return formatDer(TAG.integer, digits)
}

function timeOf(seconds: number): Uint8Array {
  const text = formatUtcSeconds(seconds).replace(/[-:T]/g, "")
  return seconds < FIRST_SECOND_OF_2050
    ? formatDer(TAG.utcTime, utf8Encode(text.slice(2)))
    : formatDer(TAG.generalizedTime, utf8Encode(text))
}

/** digitalSignature alone, and critical. RFC 5280 §4.2.1.3. */
const KEY_USAGE = sequence(
  oid(OID.keyUsage),
  formatDer(TAG.boolean, Uint8Array.of(0xff)),
  formatDer(TAG.octetString, formatDer(TAG.bitString, Uint8Array.of(7, 0x80))),
)

/** What the service key signs for its own certificate (RFC 5280 §4.1, `TBSCertificate`). */
export function certificateBody(facts: CertificateFacts): Uint8Array {
  const name = nameOf(facts)
  return sequence(
    formatDer(TAG.constructed, integer(VERSION_3)),
    serialOf(facts.spki),
    ECDSA,
    name,
    sequence(timeOf(facts.validFrom), formatDer(TAG.generalizedTime, utf8Encode(NO_END))),
    name,
    facts.spki,
    formatDer(TAG.constructed + 3, sequence(KEY_USAGE)),
  )
}

/** The certificate. @param signature of `certificateBody`, DER, low-S */
export const certificateDer = (facts: CertificateFacts, signature: Uint8Array): Uint8Array =>
  sequence(certificateBody(facts), ECDSA, bits(signature))

/** An attribute with one value. */
const attribute = (type: string, value: Uint8Array): Uint8Array => sequence(oid(type), set(value))

/** The signed attributes in the order of DER: each is longer than the one before it. RFC 5652 §5.4, X.690 §11.6. */
const attributesOf = (digest: Uint8Array, certificate: Uint8Array): readonly Uint8Array[] => [
  attribute(OID.contentType, oid(OID.data)),
  attribute(OID.messageDigest, formatDer(TAG.octetString, digest)),
  // ESSCertIDv2 with SHA-256, which is its default and so is not named.
  attribute(OID.signingCertificateV2, sequence(sequence(sequence(formatDer(TAG.octetString, sha256(certificate)))))),
]

/**
 * What the service key signs of a report: a SET OF attributes. It begins with the byte 0x31, as no leaf, no DSSE encoding and no
 * certificate body does.
 * @param digest SHA-256 of the bytes in the signature's range
 */
export const signedAttributes = (digest: Uint8Array, certificate: Uint8Array): Uint8Array =>
  set(...attributesOf(digest, certificate))

type SignatureFacts = {
  readonly facts: CertificateFacts
  readonly certificate: Uint8Array
  /** SHA-256 of the bytes in the signature's range. */
  readonly digest: Uint8Array
  /** Of `signedAttributes`, DER, low-S. */
  readonly signature: Uint8Array
}

/** The detached SignedData in its ContentInfo (RFC 5652 §3 and §5.1). */
export function signedDataDer({ facts, certificate, digest, signature }: SignatureFacts): Uint8Array {
  const hash = hashDer("sha256")
  const signer = sequence(
    integer(SIGNER_VERSION),
    sequence(nameOf(facts), serialOf(facts.spki)),
    hash,
    formatDer(TAG.constructed, ...attributesOf(digest, certificate)),
    ECDSA,
    formatDer(TAG.octetString, signature),
  )
  const data = sequence(
    integer(SIGNED_DATA_VERSION),
    set(hash),
    sequence(oid(OID.data)),
    formatDer(TAG.constructed, certificate),
    set(signer),
  )
  return concatBytes(sequence(oid(OID.signedData), formatDer(TAG.constructed, data)))
}
