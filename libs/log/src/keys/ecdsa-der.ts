import { compareBytes, concatBytes, decodeHex, encodeHex } from "@runseal/canonical"
import { derIn, derItems, magnitudeOf, readingDer, TAG } from "./der.ts"
import type { SignerKey } from "./signer-key.ts"

/** An ECDSA P-256 signature, both values in 1 … n−1. */
export interface EcdsaSignature {
  readonly r: bigint
  readonly s: bigint
}

/** The same, each value big-endian without leading zeros, as read from DER. */
interface Magnitudes {
  readonly r: Uint8Array
  readonly s: Uint8Array
}

/** Order n of the P-256 group (FIPS 186-5 through SP 800-186 §3.2.1.3). */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const ORDER_BYTES = toMagnitude(P256_ORDER)
const ABOVE_HALF_BYTES = toMagnitude(P256_ORDER / 2n + 1n)

const SEQUENCE = 0x30
const INTEGER = 0x02
const HEADER_BYTES = 2
/** A set top bit would read as a negative number (X.690 §8.3). */
const SIGN_BIT = 0x80
/** Two INTEGERs of at most 33 bytes: every length fits the short form. */
const MAX_DER_BYTES = 72

/** DER of `ECDSA-Sig-Value` (RFC 3279 §2.2.3); undefined for any other encoding, trailing bytes or values outside 1 … n−1. */
export function parseEcdsaSignature(der: Uint8Array): EcdsaSignature | undefined {
  const signature = readSignature(der)
  return signature && { r: toBigInt(signature.r), s: toBigInt(signature.s) }
}

/** The one DER spelling of a signature. */
export function formatEcdsaSignature({ r, s }: EcdsaSignature): Uint8Array {
  return formatMagnitudes({ r: toMagnitude(r), s: toMagnitude(s) })
}

/** Whether `der` is a DER-encoded P-256 signature in its only spelling. */
export function isStrictDerSignature(der: Uint8Array): boolean {
  return readSignature(der) !== undefined
}

/** Whether `der` is ECDSA-Sig-Value in DER, for a curve of any size: two positive integers, each in its shortest form. */
export const isEcdsaDer = (der: Uint8Array): boolean => valuesIn(der) !== undefined

/** Both values, each positive, without leading zeros. */
function valuesIn(der: Uint8Array): readonly Uint8Array[] | undefined {
  const values = readingDer(() => {
    const items = derItems(derIn(der, TAG.sequence).content)
    const both = [magnitudeOf(items.next(TAG.integer)), magnitudeOf(items.next(TAG.integer))]
    items.end()
    return both
  })
  return values?.every(({ length }) => length > 0) ? values : undefined
}

/** Orders of the two groups; that of P-384 from the same table. */
const ORDERS = {
  p256: P256_ORDER,
  p384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
} as const

/**
 * The low-S form of a signature under a certificate's key; undefined for a key without ECDSA, any other encoding than DER, or values
 * outside 1 … n−1. Never throws.
 */
export function lowSOf(kind: SignerKey["kind"], der: Uint8Array): Uint8Array | undefined {
  const values = kind === "p256" || kind === "p384" ? valuesIn(der)?.map(toBigInt) : undefined
  if ((kind !== "p256" && kind !== "p384") || values === undefined) return undefined
  const [order, [r = 0n, s = 0n]] = [ORDERS[kind], values]
  return r < order && s < order ? formatEcdsaSignature({ r, s: s > order / 2n ? order - s : s }) : undefined
}

/** Whether `der` is strict DER and s ≤ n/2: of the two valid forms (r, s) and (r, n−s) the one we write and accept. */
export function isLowS(der: Uint8Array): boolean {
  const signature = readSignature(der)
  return signature !== undefined && isBelow(signature.s, ABOVE_HALF_BYTES)
}

/** The low-S form of a signature, for our own signers. Throws RangeError when `der` is no strict DER signature. */
export function toLowS(der: Uint8Array): Uint8Array {
  const signature = readSignature(der)
  if (signature === undefined) throw new RangeError("The signer returned bytes that are not a DER P-256 signature.")
  const { r, s } = signature
  return isBelow(s, ABOVE_HALF_BYTES) ? der : formatMagnitudes({ r, s: toMagnitude(P256_ORDER - toBigInt(s)) })
}

function readSignature(der: Uint8Array): Magnitudes | undefined {
  if (der.length > MAX_DER_BYTES || der[0] !== SEQUENCE || der[1] !== der.length - HEADER_BYTES) return undefined
  const secondAt = 2 * HEADER_BYTES + (der[HEADER_BYTES + 1] ?? 0)
  const r = readInteger(der.subarray(HEADER_BYTES, secondAt))
  const s = readInteger(der.subarray(secondAt))
  return r && s && { r, s }
}

/** The value of a DER INTEGER that fills `der`: minimal, positive and below n. */
function readInteger(der: Uint8Array): Uint8Array | undefined {
  const [tag, length, first = SIGN_BIT, second = 0] = der
  if (tag !== INTEGER || length !== der.length - HEADER_BYTES || first >= SIGN_BIT) return undefined
  // A leading zero is there only to keep the sign bit clear; alone it is the value zero, which no signature holds.
  if (first === 0 && second < SIGN_BIT) return undefined
  const value = der.subarray(first === 0 ? HEADER_BYTES + 1 : HEADER_BYTES)
  return isBelow(value, ORDER_BYTES) ? value : undefined
}

/** For values without leading zeros. */
function isBelow(value: Uint8Array, limit: Uint8Array): boolean {
  return value.length < limit.length || (value.length === limit.length && compareBytes(value, limit) < 0)
}

function toBigInt(magnitude: Uint8Array): bigint {
  return BigInt(`0x${encodeHex(magnitude)}`)
}

function toMagnitude(value: bigint): Uint8Array {
  const hex = value.toString(16)
  return decodeHex(hex.length % 2 === 0 ? hex : `0${hex}`) ?? Uint8Array.of()
}

function formatMagnitudes({ r, s }: Magnitudes): Uint8Array {
  const content = concatBytes(derInteger(r), derInteger(s))
  return concatBytes(Uint8Array.of(SEQUENCE, content.length), content)
}

function derInteger(magnitude: Uint8Array): Uint8Array {
  const sign = (magnitude[0] ?? 0) >= SIGN_BIT ? [0] : []
  return concatBytes(Uint8Array.of(INTEGER, sign.length + magnitude.length, ...sign), magnitude)
}
