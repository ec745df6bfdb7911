/**
 * The object of a PDF that holds its signature, in the one spelling of our reports: a signature dictionary of ISO 32000-1 §12.8.1 as
 * PAdES baseline wants it (ETSI EN 319 142-1 §6.3). The signature covers the whole file but the hexadecimal string of /Contents.
 */
import { concatBytes, decodeHex, encodeHex, utf8Encode } from "@runseal/canonical"
import { formatUtcSeconds } from "@runseal/log/keys/validity"
import { latin1, PdfError } from "./pdf-value.ts"

/** Bytes there is room for: the signature with its certificate takes some 1,100; zeros follow. */
const SIGNATURE_ROOM_BYTES = 1536
const HEX_DIGITS = 2 * SIGNATURE_ROOM_BYTES
const RANGE_KEY = "\n/ByteRange "
const CONTENTS_KEY = "\n/Contents <"
/** Characters of the byte range's numbers, filled with spaces: a file has at most ten digits of bytes. */
const RANGE_LENGTH = 48

/** A file's bytes before and behind the string of /Contents: `[0, before]` and `[behind, rest]`. */
type SignedRange = { readonly before: number; readonly behind: number; readonly rest: number }

/** The value of the object, from `<<` to `>>`. @param time as a PDF spells it @param hex of the room, lowercase */
function signatureValue({ before, behind, rest }: SignedRange, time: string, hex: string): string {
  const range = `[ 0 ${before} ${behind} ${rest} ]`.padEnd(RANGE_LENGTH)
  return `<<\n/Type /Sig\n/Filter /Adobe.PPKLite\n/SubFilter /ETSI.CAdES.detached\n/M (${time})\n/ByteRange ${range}\n/Contents <${hex}>\n>>`
}

/** An empty value, as long as the one that will replace it. */
export const emptySignatureValue = (time: string): string =>
  signatureValue({ before: 0, behind: 0, rest: 0 }, time, "0".repeat(HEX_DIGITS))

/** The range of a file of `length` bytes in which the value begins at `at`. */
function rangeAround(length: number, at: number, value: string): SignedRange {
  const before = at + value.indexOf("/Contents ") + "/Contents ".length
  const behind = before + HEX_DIGITS + 2
  return { before, behind, rest: length - behind }
}

/** The file with its byte range in the place of the empty value. Throws RangeError when that is not there once. */
export function withSignedRange(pdf: Uint8Array, time: string): Uint8Array {
  const empty = emptySignatureValue(time)
  const text = latin1(pdf)
  const at = text.indexOf(empty)
  if (at < 0 || text.includes(empty, at + 1)) throw new RangeError("The file has no one place for a signature.")
  const filled = signatureValue(rangeAround(pdf.length, at, empty), time, "0".repeat(HEX_DIGITS))
  return concatBytes(pdf.subarray(0, at), utf8Encode(filled), pdf.subarray(at + empty.length))
}

/** What a signature in a file covers. */
export const signedBytes = (pdf: Uint8Array, { before, behind }: SignedRange): Uint8Array =>
  concatBytes(pdf.subarray(0, before), pdf.subarray(behind))

/** The range of a file that `withSignedRange` made. Throws RangeError for any other. */
export function rangeOf(pdf: Uint8Array): SignedRange {
  const text = latin1(pdf)
  for (let at = text.indexOf(RANGE_KEY); at >= 0; at = text.indexOf(RANGE_KEY, at + 1)) {
    const from = at + RANGE_KEY.length
    const [, , before, behind, rest] = text.slice(from, from + RANGE_LENGTH).split(" ")
    const range = { before: Number(before), behind: Number(behind), rest: Number(rest) }
    // The place says of itself where it is: no text of a report does.
    const isOwn = range.before === from + RANGE_LENGTH + CONTENTS_KEY.length - 1
    if (isOwn && range.behind === range.before + HEX_DIGITS + 2 && range.behind + range.rest === pdf.length)
      return range
  }
  throw new RangeError("The file has no place for a signature.")
}

/** The file with the signature in its room. Throws RangeError when it does not fit. */
export function withSignature(pdf: Uint8Array, range: SignedRange, cms: Uint8Array): Uint8Array<ArrayBuffer> {
  if (cms.length > SIGNATURE_ROOM_BYTES) throw new RangeError("The signature is longer than the room for it.")
  const hex = utf8Encode(encodeHex(cms).padEnd(HEX_DIGITS, "0"))
  const signed = Uint8Array.from(pdf)
  signed.set(hex, range.before + 1)
  return signed
}

/** What a file's signature object says. */
export type SignatureObject = {
  readonly range: SignedRange
  /** The time of /M. */
  readonly time: string
  /** The room's bytes: the signature, and the zeros behind it. */
  readonly room: Uint8Array
}

/**
 * Reads the object from `start` to `end`. It is spelled in one way, so that nothing outside the signature's range can be
 * another way of saying the same.
 * @throws PdfError for any other spelling, and for a range that is not the whole file but for the room
 */
export function readSignatureObject(pdf: Uint8Array, start: number, end: number): SignatureObject {
  const text = latin1(pdf.subarray(start, end))
  const valueAt = text.indexOf("<<")
  const [, time = ""] = /\n\/M \((D:\d{14}Z)\)\n/.exec(text) ?? []
  const hexAt = text.indexOf(CONTENTS_KEY) + CONTENTS_KEY.length
  const hex = text.slice(hexAt, hexAt + HEX_DIGITS)
  const room = decodeHex(hex)
  const range = rangeAround(pdf.length, start + valueAt, emptySignatureValue(time))
  const value = signatureValue(range, time, hex)
  if (room === undefined || encodeHex(room) !== hex || text.slice(valueAt) !== `${value}\nendobj\n\n`)
    throw new PdfError("its signature does not cover the whole file, or is not spelled as ours")
  return { range, time, room }
}

/** The time of a report's /M: that of its record, or the first second of the key where that is later. No clock is read for it. */
export const signingTime = (recordSeconds: number, validFrom: number): string =>
  `D:${formatUtcSeconds(Math.max(recordSeconds, validFrom)).replace(/[-:TZ]/g, "")}Z`
