/** Public keys of certificates: those of timestamp authorities and of the issuers above them. */
import { decodeHex, encodeHex, equalBytes } from "@runseal/canonical"
import { bitsOf, DerError, type DerValue, derIn, derItems, formatDer, magnitudeOf, TAG } from "./der.ts"

export const HASH_NAMES = ["sha256", "sha384", "sha512"] as const
export type HashName = (typeof HASH_NAMES)[number]

/** A key that signs: the DER SubjectPublicKeyInfo, and what the signature check needs of it. */
export type SignerKey =
  | { readonly kind: "p256" | "p384"; readonly spki: Uint8Array; readonly point: Uint8Array }
  | { readonly kind: "ed25519"; readonly spki: Uint8Array; readonly raw: Uint8Array }
  /** Its exponent is 65537. */
  | { readonly kind: "rsa"; readonly spki: Uint8Array; readonly modulus: Uint8Array }

/** A signature algorithm: the family of its key, and the hash of the message. Ed25519 hashes by itself. */
export type SignatureAlgorithm =
  | { readonly family: "ecdsa" | "rsa"; readonly hash: HashName }
  | { readonly family: "ed25519" }

/** Smallest and largest modulus in bits. */
export const RSA_BITS = [2048, 4096] as const
/** 65537, the exponent of practically every RSA key; FIPS 186-5 §A.1.1 allows no smaller one. */
const RSA_EXPONENT = Uint8Array.of(1, 0, 1)

/** Object identifiers as the hex of their content octets. */
const EC_PUBLIC_KEY = "2a8648ce3d0201"
const CURVES: Readonly<Record<string, { readonly kind: "p256" | "p384"; readonly bytes: number }>> = {
  "2a8648ce3d030107": { kind: "p256", bytes: 65 },
  "2b81040022": { kind: "p384", bytes: 97 },
}
const RSA_ENCRYPTION = "2a864886f70d010101"
const ED25519 = "2b6570"
const ED25519_BYTES = 32
const UNCOMPRESSED = 0x04
const NULL = Uint8Array.of(TAG.null, 0)

const SIGNATURES: Readonly<Record<string, SignatureAlgorithm>> = {
  "2a8648ce3d040302": { family: "ecdsa", hash: "sha256" },
  "2a8648ce3d040303": { family: "ecdsa", hash: "sha384" },
  "2a8648ce3d040304": { family: "ecdsa", hash: "sha512" },
  "2a864886f70d01010b": { family: "rsa", hash: "sha256" },
  "2a864886f70d01010c": { family: "rsa", hash: "sha384" },
  "2a864886f70d01010d": { family: "rsa", hash: "sha512" },
  [ED25519]: { family: "ed25519" },
}

const HASHES: Readonly<Record<string, HashName>> = {
  "608648016503040201": "sha256",
  "608648016503040202": "sha384",
  "608648016503040203": "sha512",
}

/** @throws DerError for a key of another kind or size */
export function signerKeyIn({ content, raw }: DerValue): SignerKey {
  const items = derItems(content)
  const algorithm = derItems(items.next(TAG.sequence).content)
  const bits = bitsOf(items.next(TAG.bitString))
  items.end()
  const kind = oidIn(algorithm.next(TAG.oid))
  if (kind === EC_PUBLIC_KEY) {
    const curve = CURVES[oidIn(algorithm.next(TAG.oid))]
    algorithm.end()
    if (curve === undefined || bits.length !== curve.bytes || bits[0] !== UNCOMPRESSED) throw new DerError()
    return { kind: curve.kind, spki: raw, point: bits }
  }
  if (kind === RSA_ENCRYPTION) {
    algorithm.next(TAG.null)
    algorithm.end()
    return { kind: "rsa", spki: raw, modulus: modulusIn(bits) }
  }
  algorithm.end()
  if (kind !== ED25519 || bits.length !== ED25519_BYTES) throw new DerError()
  return { kind: "ed25519", spki: raw, raw: bits }
}

/** RSAPublicKey of RFC 8017 §A.1.1. */
function modulusIn(bits: Uint8Array): Uint8Array {
  const items = derItems(derIn(bits, TAG.sequence).content)
  const modulus = magnitudeOf(items.next(TAG.integer))
  const exponent = magnitudeOf(items.next(TAG.integer))
  items.end()
  const [least, most] = RSA_BITS
  const size = modulus.length * 8
  if (size < least || size > most || (modulus[0] ?? 0) < 0x80 || !equalBytes(exponent, RSA_EXPONENT))
    throw new DerError()
  return modulus
}

/** An OBJECT IDENTIFIER as the hex of its content. */
export const oidIn = ({ content }: DerValue): string => encodeHex(content)

/** The signature algorithm of an AlgorithmIdentifier. @throws DerError for one that is not known here */
export function signatureAlgorithmIn({ content }: DerValue): SignatureAlgorithm {
  const items = derItems(content)
  const algorithm = SIGNATURES[oidIn(items.next(TAG.oid))]
  if (algorithm?.family === "rsa") endWithNull(items.next(TAG.null))
  items.end()
  if (algorithm === undefined) throw new DerError()
  return algorithm
}

/** The signature algorithm of a CMS SignerInfo, in which RSA may also have its general name (RFC 3370 §3.2). @throws DerError */
export function signerAlgorithmIn(value: DerValue, hash: HashName): SignatureAlgorithm {
  const items = derItems(value.content)
  if (oidIn(items.next(TAG.oid)) !== RSA_ENCRYPTION) return signatureAlgorithmIn(value)
  endWithNull(items.next(TAG.null))
  items.end()
  return { family: "rsa", hash }
}

/** DER of a signature algorithm in stored timestamps: RSA has its general name, since no signature covers which of its names is used. */
export function algorithmDer(algorithm: SignatureAlgorithm): Uint8Array {
  if (algorithm.family === "rsa") return formatDer(TAG.sequence, oidOf(RSA_ENCRYPTION), NULL)
  const isSame = (known: SignatureAlgorithm): boolean =>
    algorithm.family === "ed25519"
      ? known.family === "ed25519"
      : known.family === "ecdsa" && known.hash === algorithm.hash
  return formatDer(TAG.sequence, oidOf(Object.entries(SIGNATURES).find(([, known]) => isSame(known))?.[0] ?? ""))
}

/** DER of a hash algorithm, without parameters (RFC 5754 §2). */
export const hashDer = (hash: HashName): Uint8Array =>
  formatDer(TAG.sequence, oidOf(Object.entries(HASHES).find(([, known]) => known === hash)?.[0] ?? ""))

const oidOf = (hex: string): Uint8Array => formatDer(TAG.oid, decodeHex(hex) ?? new Uint8Array())

/** The hash of an AlgorithmIdentifier, without parameters or with NULL (RFC 5754 §2). @throws DerError for another one */
export function hashIn({ content }: DerValue): HashName {
  const items = derItems(content)
  const hash = HASHES[oidIn(items.next(TAG.oid))]
  const parameters = items.nextIf(TAG.null)
  if (parameters !== undefined) endWithNull(parameters)
  items.end()
  if (hash === undefined) throw new DerError()
  return hash
}

/** AlgorithmIdentifier of SHA-256. */
export const SHA256_ALGORITHM: Uint8Array = decodeHex("300d06096086480165030402010500") ?? Uint8Array.of()

function endWithNull({ raw }: DerValue): void {
  if (!equalBytes(raw, NULL)) throw new DerError()
}
