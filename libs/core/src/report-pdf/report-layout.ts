/**
 * How a report in PDF begins: object 1 is its signature, object 2 the record, each at a fixed place and in one spelling. So a verifier
 * finds both without reading PDF. The signature is that of ISO 32000-1 §12.8.1 as PAdES baseline wants it (ETSI EN 319 142-1 §6.3): it
 * covers the whole file but the hexadecimal string of /Contents. docs/formats.md section 11.
 */
import { concatBytes, decodeHex, encodeHex, utf8Encode } from "@runseal/canonical"
import { formatUtcSeconds } from "@runseal/log/keys/validity"

/** Bytes that there is room for: the signature with its certificate takes some 1,100; zeros follow. */
const SIGNATURE_ROOM_BYTES = 1536
const HEX_DIGITS = 2 * SIGNATURE_ROOM_BYTES
/** Characters of the byte range, filled with spaces: a file has at most ten digits of bytes. */
const RANGE_LENGTH = 48
/** Digits of a record's length; `LENGTH` reads no more. */
const LENGTH_DIGITS_MAX = 9
/** Number of the object with size, times and checksum of the record, for those who take it out with another program. */
export const RECORD_PARAMETERS = 3

/** The beginning of every file. Bytes above 127 say that it is no text. ISO 32000-1 §7.5.2. */
const HEADER = "%PDF-1.7\n%\u0081\u0081\u0081\u0081\n\n1 0 obj\n"
const OBJECT_END = "\nendobj\n\n"
const ROOM_KEY = "\n/Contents "

/** The signature's object from its beginning to its room. */
const beforeRoom = (time: string, range: string): string =>
  `<<\n/Type /Sig\n/Filter /Adobe.PPKLite\n/SubFilter /ETSI.CAdES.detached\n/M (${time})\n/ByteRange ${range.padEnd(RANGE_LENGTH)}${ROOM_KEY}`
const TIME = /\/M \((D:\d{14}Z)\)/
const AFTER_ROOM = "\n>>"

/** The record's object from its beginning to the record. @param length of the record, its digits */
const beforeRecord = (length: string): string =>
  `<<\n/Type /EmbeddedFile\n/Subtype /application#2Fjson\n/Params ${RECORD_PARAMETERS} 0 R\n/Length ${length}\n>>\nstream\n`
const LENGTH = /\/Length ([1-9]\d{0,8})\n/
const AFTER_RECORD = "\nendstream"

/** Where the `<` of /Contents is, and the place behind its `>`. */
const ROOM_AT = HEADER.length + beforeRoom("D:YYYYMMDDHHMMSSZ", "").length
const ROOM_END = ROOM_AT + HEX_DIGITS + 2
const RANGE_AT = ROOM_AT - ROOM_KEY.length - RANGE_LENGTH
const BETWEEN = `${AFTER_ROOM}${OBJECT_END}2 0 obj\n`
/** All that is in front of the record, when its length has the most digits. */
const FRONT_BYTES = ROOM_END + BETWEEN.length + beforeRecord("").length + LENGTH_DIGITS_MAX

/** The byte range of a file of that length. */
const rangeOf = (length: number): string => `[ 0 ${ROOM_AT} ${ROOM_END} ${length - ROOM_END} ]`

/** The value of object 1 before the file is whole. @param time as PDF spells it */
export const emptySignatureValue = (time: string): string =>
  `${beforeRoom(time, "")}<${"0".repeat(HEX_DIGITS)}>${AFTER_ROOM}`

/** The value of object 2: the record as it is, so that nobody has to decompress it. */
export const recordValue = (record: Uint8Array): Uint8Array =>
  concatBytes(utf8Encode(beforeRecord(`${record.length}`)), record, utf8Encode(AFTER_RECORD))

/** The whole file, with its byte range in the place for it. Throws RangeError when it does not begin as a report. */
export function withSignedRange(pdf: Uint8Array): Uint8Array {
  const ranged = Uint8Array.from(pdf)
  ranged.set(utf8Encode(rangeOf(pdf.length).padEnd(RANGE_LENGTH)), RANGE_AT)
  const parts = readLayout(ranged)
  if (typeof parts === "string") throw new RangeError(`The file cannot be signed: ${parts}.`)
  return ranged
}

/** What the signature of a report covers. */
export const signedBytes = (pdf: Uint8Array): Uint8Array =>
  concatBytes(pdf.subarray(0, ROOM_AT), pdf.subarray(ROOM_END))

/** The report with its signature in the room for it. Throws RangeError when it does not fit. */
export function withSignature(pdf: Uint8Array, cms: Uint8Array): Uint8Array<ArrayBuffer> {
  if (cms.length > SIGNATURE_ROOM_BYTES) throw new RangeError("The signature is longer than the room for it.")
  const signed = Uint8Array.from(pdf)
  signed.set(utf8Encode(encodeHex(cms).padEnd(HEX_DIGITS, "0")), ROOM_AT + 1)
  return signed
}

/** What is at the fixed places of a report. */
export type ReportParts = {
  /** The time of /M. */
  readonly time: string
  /** The signature, and the zeros behind it. */
  readonly room: Uint8Array
  readonly record: Uint8Array
}

/** Reads the fixed places of a report; a text says why the file is none. Never throws. */
export function readLayout(pdf: Uint8Array): ReportParts | string {
  const front = charactersOf(pdf.subarray(0, FRONT_BYTES))
  const [, time = ""] = TIME.exec(front) ?? []
  const wanted = `${HEADER}${beforeRoom(time, rangeOf(pdf.length))}`
  if (front.slice(0, RANGE_AT) !== wanted.slice(0, RANGE_AT)) return "it does not begin as a report"
  if (!front.startsWith(wanted))
    return "its signature does not cover the whole file: it was cut, or something was put behind it"
  // The signature does not cover its own room: this has one spelling, so that no other file has the same signature.
  const hex = front.slice(ROOM_AT + 1, ROOM_END - 1)
  const room = decodeHex(hex)
  if (room === undefined || front.slice(ROOM_AT, ROOM_END) !== `<${hex}>`)
    return "its signature is spelled in another way than ours"
  const [, length = ""] = LENGTH.exec(front.slice(ROOM_END)) ?? []
  const between = `${BETWEEN}${beforeRecord(length)}`
  const [from, to] = [ROOM_END + between.length, ROOM_END + between.length + Number(length)]
  const after = `${AFTER_RECORD}${OBJECT_END}`
  if (!front.startsWith(between, ROOM_END) || charactersOf(pdf.subarray(to, to + after.length)) !== after)
    return "its record is not where a report has it"
  return { time, room, record: pdf.subarray(from, to) }
}

/** A few bytes as characters of the same numbers. */
const charactersOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes)

/** The time of a report's /M: that of its record, or the first second of the key where that is later. No clock is read for it. */
export const signingTime = (recordSeconds: number, validFrom: number): string =>
  `D:${formatUtcSeconds(Math.max(recordSeconds, validFrom)).replace(/[-:TZ]/g, "")}Z`
