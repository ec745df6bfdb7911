/**
 * DER (X.690 §10), as much as timestamps and certificates need: definite lengths in their shortest form and tags of one byte.
 * Parsed values are views of the input bytes. Every reader throws DerError, and nothing else, for any other encoding.
 */
import { concatBytes } from "@runseal/canonical"
import { parseUtcSeconds } from "./validity.ts"

/** The bytes are not the expected DER. `readingDer` turns it into undefined. */
export class DerError extends Error {}

/** Identifier octets, X.690 §8.1.2 and §8.14. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** Context-specific, primitive and constructed, number 0. */
  context: 0x80,
  constructed: 0xa0,
} as const

export interface DerValue {
  readonly tag: number
  readonly content: Uint8Array
  /** With tag and length. */
  readonly raw: Uint8Array
}

/** The values within a constructed one, in their order. */
export interface DerItems {
  /** The next value, which has this tag. */
  readonly next: (tag: number) => DerValue
  /** The next value, if it has this tag. */
  readonly nextIf: (tag: number) => DerValue | undefined
  /** The next value, whatever it is. */
  readonly take: () => DerValue
  readonly isEmpty: () => boolean
  /** Throws if values are left. */
  readonly end: () => void
}

/** Most values within one constructed value; timestamps and certificates have fewer. */
const MAX_ITEMS = 64
/** Most octets of a length; three allow more bytes than any input here has. */
const MAX_LENGTH_OCTETS = 3
const HIGH_TAG_NUMBER = 0x1f
const LONG_FORM = 0x80

/** The result of `read`; undefined when it threw DerError. */
export function readingDer<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}

/** The only value in `bytes`, with this tag. */
export function derIn(bytes: Uint8Array, tag: number): DerValue {
  const items = derItems(bytes)
  const value = items.next(tag)
  items.end()
  return value
}

/** The values in `bytes`, such as the content of a SEQUENCE. */
export function derItems(bytes: Uint8Array): DerItems {
  let at = 0
  let read = 0
  const take = (): DerValue => {
    const value = derAt(bytes, at)
    if (++read > MAX_ITEMS) throw new DerError()
    at += value.raw.length
    return value
  }
  const next = (tag: number): DerValue => {
    if (bytes[at] !== tag) throw new DerError()
    return take()
  }
  return {
    next,
    take,
    nextIf: tag => (bytes[at] === tag ? next(tag) : undefined),
    isEmpty: () => at === bytes.length,
    end: () => {
      if (at !== bytes.length) throw new DerError()
    },
  }
}

/** All values in `bytes`, each with this tag. */
export function derList(bytes: Uint8Array, tag: number): readonly DerValue[] {
  const items = derItems(bytes)
  const list: DerValue[] = []
  while (!items.isEmpty()) list.push(items.next(tag))
  return list
}

function derAt(bytes: Uint8Array, at: number): DerValue {
  const [tag, first] = bytes.subarray(at, at + 2)
  if (tag === undefined || first === undefined || (tag & HIGH_TAG_NUMBER) === HIGH_TAG_NUMBER) throw new DerError()
  const octets = first < LONG_FORM ? 0 : first - LONG_FORM
  const start = at + 2 + octets
  const length = octets === 0 ? first : longLength(bytes.subarray(at + 2, start), octets)
  if (start + length > bytes.length) throw new DerError()
  return { tag, content: bytes.subarray(start, start + length), raw: bytes.subarray(at, start + length) }
}

/** A length in the long form, which is allowed for 128 and above only, without leading zeros. */
function longLength(digits: Uint8Array, octets: number): number {
  if (octets > MAX_LENGTH_OCTETS || digits.length !== octets || digits[0] === 0) throw new DerError()
  const length = digits.reduce((sum, digit) => sum * 256 + digit, 0)
  if (length < LONG_FORM) throw new DerError()
  return length
}

/** The octets of a non-negative INTEGER without leading zeros; none for 0. */
export function magnitudeOf({ content }: DerValue): Uint8Array {
  const [first, second] = content
  if (first === undefined || first >= 0x80) throw new DerError()
  if (first !== 0) return content
  if (second !== undefined && second < 0x80) throw new DerError()
  return content.subarray(1)
}

/** A non-negative INTEGER of at most four octets. */
export function smallIntegerOf(value: DerValue): number {
  const magnitude = magnitudeOf(value)
  if (magnitude.length > 4) throw new DerError()
  return magnitude.reduce((sum, octet) => sum * 256 + octet, 0)
}

/** The octets of a BIT STRING without unused bits. */
export function bitsOf({ content }: DerValue): Uint8Array {
  if (content[0] !== 0) throw new DerError()
  return content.subarray(1)
}

/** A BOOLEAN. */
export function isTrue({ content }: DerValue): boolean {
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw new DerError()
  return content[0] === 0xff
}

/**
 * Unix seconds, rounded down, of a GeneralizedTime or a UTCTime (RFC 5280 §4.1.2.5, RFC 3161 §2.4.2): in UTC, with seconds, a
 * fraction without zeros at its end.
 */
export function secondsOf({ tag, content }: DerValue): number {
  const text = String.fromCharCode(...content.subarray(0, MAX_TIME_LENGTH + 1))
  const [, year = "", month, day, hour, minute, second, fraction = ""] = TIME[tag]?.exec(text) ?? []
  // RFC 5280 §4.1.2.5.1: two digits from 50 on are of the 20th century.
  const century = year.length === 4 ? "" : Number(year) < 50 ? "20" : "19"
  const seconds = parseUtcSeconds(`${century}${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}Z`)
  if (seconds === undefined) throw new DerError()
  return seconds
}

/** With nine digits of a second's fraction. */
const MAX_TIME_LENGTH = 25
const TIME: { readonly [tag: number]: RegExp } = {
  [TAG.utcTime]: /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/,
  [TAG.generalizedTime]: /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{0,8}[1-9])?Z$/,
}

/** Writes one value. */
export function formatDer(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = concatBytes(...parts)
  const digits: number[] = []
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256)
  const length = content.length < LONG_FORM ? [content.length] : [LONG_FORM + digits.length, ...digits]
  return concatBytes(Uint8Array.of(tag, ...length), content)
}
