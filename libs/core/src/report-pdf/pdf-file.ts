/**
 * Opens a PDF in the one layout of our reports: a first line, the objects 1, 2, 3 … without gaps, one cross-reference table, one
 * trailer. Every byte of the file belongs to one of them, so that nothing in it is read by some programs only and no later revision can
 * follow. ISO 32000-1 §7.5.
 */
import { latin1, type PdfDictionary, PdfError, type PdfReader, type PdfValue, readPdf } from "./pdf-value.ts"

/**
 * Undoes Flate (RFC 1950). Rejects when the result would be longer than `maxBytes`, the data is not whole, or something is behind its end.
 * The platform brings it: zlib in Node, DecompressionStream in browsers.
 */
export type Inflate = (data: Uint8Array, maxBytes: number) => Promise<Uint8Array>

export type PdfObject = {
  readonly value: PdfValue
  /** The raw bytes of a stream; absent of an object that is none. */
  readonly stream?: Uint8Array
  /** Its first byte and the one behind its `endobj` line. */
  readonly start: number
  readonly end: number
}

export type PdfFile = {
  readonly bytes: Uint8Array
  readonly trailer: PdfDictionary
  readonly objects: ReadonlyMap<number, PdfObject>
  /** The value itself, or the object it refers to. @throws PdfError */
  readonly resolve: (value: PdfValue | undefined) => PdfValue | undefined
  /** The decoded bytes of the stream a value refers to. @throws PdfError */
  readonly stream: (value: PdfValue | undefined) => Promise<Uint8Array>
}

const MAX_OBJECTS = 200_000
/** One decoded stream; a page, a font or a bundle stays below. */
const MAX_STREAM_BYTES = 16 * 1024 * 1024
/** All streams of one file, each as often as it is read. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024
/** Streams read of one file: one or two for each page and font. */
const MAX_STREAMS = 50_000
/** The last bytes, which hold `startxref`. */
const TAIL_BYTES = 64
/** A line of bytes above 127 says that the file is no text. ISO 32000-1 §7.5.2. */
const HEADER = "%PDF-1.7\n%\u0081\u0081\u0081\u0081\n\n"
/** A row of the cross-reference table. ISO 32000-1 §7.5.4. */
const ROW_BYTES = 20
const FREE_ROW = "0000000000 65535 f \n"

/** Member of a dictionary value; undefined when there is none, or no dictionary. */
export const member = (value: PdfValue | undefined, key: string): PdfValue | undefined =>
  value?.kind === "dictionary" ? value.entries.get(key) : undefined

/** @throws PdfError when the bytes are no such PDF */
export function openPdf(bytes: Uint8Array, inflate: Inflate): PdfFile {
  if (!hasText(bytes, 0, HEADER)) throw new PdfError("it does not begin as a report")
  const tail = /\n\nstartxref\n(\d{1,10})\n%%EOF$/.exec(latin1(bytes.subarray(-TAIL_BYTES)))
  if (tail === null) throw new PdfError("it does not end as a report: it was cut, or something was put behind it")
  const table = Number(tail[1])
  const { offsets, trailer } = readTable(bytes, table, bytes.length - tail[0].length)
  const objects = readObjects(bytes, offsets, table)
  const resolve = (value: PdfValue | undefined): PdfValue | undefined => {
    if (value?.kind !== "reference") return value
    const resolved = objects.get(value.object)?.value
    if (resolved === undefined) throw new PdfError("an object is missing")
    return resolved
  }
  return { bytes, trailer, objects, resolve, stream: streamReader(objects, inflate) }
}

function streamReader(objects: ReadonlyMap<number, PdfObject>, inflate: Inflate): PdfFile["stream"] {
  let decoded = 0
  let streams = 0
  return async reference => {
    const object = reference?.kind === "reference" ? objects.get(reference.object) : undefined
    if (object?.stream === undefined) throw new PdfError("a stream is missing")
    if (++streams > MAX_STREAMS) throw new PdfError("it has too many streams")
    const data =
      member(object.value, "Filter") === undefined
        ? object.stream
        : await inflate(object.stream, Math.min(MAX_STREAM_BYTES, MAX_DECODED_BYTES - decoded)).catch(() => {
            throw new PdfError("a stream cannot be decompressed within bounds")
          })
    decoded += data.length
    if (decoded > MAX_DECODED_BYTES) throw new PdfError("its streams are too large")
    return data
  }
}

type Table = { readonly offsets: readonly number[]; readonly trailer: PdfDictionary }

/** The one cross-reference table, of the objects 0 to the last in one section, and its trailer, which ends at `end`. */
function readTable(bytes: Uint8Array, start: number, end: number): Table {
  const [head, count] = /^xref\n0 ([1-9]\d{0,6})\n/.exec(latin1(bytes.subarray(start, start + 16))) ?? []
  const size = Number(count)
  if (head === undefined) throw new PdfError("its cross-reference table is not where it says")
  if (size > MAX_OBJECTS) throw new PdfError("it has too many objects")
  const first = start + head.length
  if (!hasText(bytes, first, FREE_ROW)) throw new PdfError("its cross-reference table is not exact")
  const offsets = Array.from({ length: size - 1 }, (_, at) => {
    const from = first + (at + 1) * ROW_BYTES
    const [, offset] = /^(\d{10}) 00000 n \n$/.exec(latin1(bytes.subarray(from, from + ROW_BYTES))) ?? []
    if (offset === undefined) throw new PdfError("its cross-reference table is not exact")
    return Number(offset)
  })
  const reader = readPdf(bytes, true)
  reader.moveTo(expectAt(bytes, first + size * ROW_BYTES, "\ntrailer\n"))
  const trailer = reader.next()
  if (trailer?.kind !== "dictionary" || reader.position() !== end) throw new PdfError("its trailer is not exact")
  const named = trailer.entries.get("Size")
  if (named?.kind !== "number" || named.value !== size) throw new PdfError("its trailer is not exact")
  return { offsets, trailer }
}

/** All objects, each where the one before it ends. @param end where the last one must end */
function readObjects(bytes: Uint8Array, offsets: readonly number[], end: number): ReadonlyMap<number, PdfObject> {
  const reader = readPdf(bytes, true)
  const objects = new Map<number, PdfObject>()
  let at = HEADER.length
  for (const [index, offset] of offsets.entries()) {
    if (offset !== at) throw new PdfError("an object is not where the cross-reference table says")
    const object = readObject(bytes, reader, index + 1, at)
    objects.set(index + 1, object)
    at = object.end
  }
  if (at !== end) throw new PdfError("there is something between its objects and their table")
  return objects
}

function readObject(bytes: Uint8Array, reader: PdfReader, number: number, start: number): PdfObject {
  reader.moveTo(expectAt(bytes, start, `${number} 0 obj\n`))
  const value = reader.next()
  if (value === undefined || value.kind === "word" || value.kind === "reference")
    throw new PdfError("an object is empty")
  const at = reader.position()
  if (value.kind !== "dictionary" || !hasText(bytes, at, "\nstream\n"))
    return { value, start, end: expectAt(bytes, at, "\nendobj\n\n") }
  const from = expectAt(bytes, at, "\nstream\n")
  const length = value.entries.get("Length")
  if (length?.kind !== "number" || !Number.isSafeInteger(length.value) || length.value < 0)
    throw new PdfError("a stream does not give its length")
  const to = from + length.value
  if (!hasText(bytes, to, "\nendstream\nendobj\n\n")) throw new PdfError("a stream is longer or shorter than it says")
  return { value, stream: bytes.subarray(from, to), start, end: expectAt(bytes, to, "\nendstream\nendobj\n\n") }
}

/** Whether these characters, one byte each, are at that position. */
function hasText(bytes: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false
  return true
}

/** The position after the text, which has to be there. */
function expectAt(bytes: Uint8Array, at: number, text: string): number {
  if (!hasText(bytes, at, text)) throw new PdfError("its objects do not follow each other without a gap")
  return at + text.length
}
