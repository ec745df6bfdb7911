/**
 * Opens a PDF as our reports are: one cross-reference table, no later revision, no object streams, no encryption. What a
 * viewer would repair or resolve another way is refused, so that nobody sees another file than the one that is judged.
 * ISO 32000-1 §7.5.
 */
import { latin1, type PdfDictionary, PdfError, type PdfValue, readPdf } from "./pdf-value.ts"

/**
 * Undoes Flate (RFC 1950). Rejects when the result would be longer than `maxBytes` or the data is not whole.
 * The platform brings it: zlib in Node, DecompressionStream in browsers.
 */
export type Inflate = (data: Uint8Array, maxBytes: number) => Promise<Uint8Array>

export type PdfStream = { readonly dictionary: PdfDictionary; readonly data: Uint8Array }

export type PdfFile = {
  readonly trailer: PdfDictionary
  /** The value itself, or the object it refers to. @throws PdfError */
  readonly resolve: (value: PdfValue | undefined) => PdfValue | undefined
  /** The stream a value refers to, decoded. @throws PdfError */
  readonly stream: (value: PdfValue | undefined) => Promise<PdfStream>
}

const MAX_OBJECTS = 200_000
/** One decoded stream; a page, a font or a bundle stays below. */
const MAX_STREAM_BYTES = 16 * 1024 * 1024
/** All streams of one file, each as often as it is read. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024
/** Streams read of one file: one or two for each page and font. */
const MAX_STREAMS = 50_000
/** Where `startxref` must stand. */
const TAIL_BYTES = 64

const word = (value: PdfValue | undefined, expected: string): boolean =>
  value?.kind === "word" && value.word === expected

/** Member of a dictionary value; undefined when there is none, or no dictionary. */
export const member = (value: PdfValue | undefined, key: string): PdfValue | undefined =>
  value?.kind === "dictionary" ? value.entries.get(key) : undefined

/** @throws PdfError when the bytes are no such PDF */
export function openPdf(bytes: Uint8Array, inflate: Inflate): PdfFile {
  if (!/^%PDF-1\.[4-7][\r\n]/.test(latin1(bytes.subarray(0, 9)))) throw new PdfError("it does not begin as a PDF")
  const tail = /startxref\r?\n(\d{1,10})\r?\n%%EOF\r?\n?$/.exec(latin1(bytes.subarray(-TAIL_BYTES)))
  if (tail === null) throw new PdfError("it does not end as a PDF: it was cut, or something was put behind it")
  const { offsets, trailer } = readTable(bytes, Number(tail[1]))
  const read = objectReader(bytes, offsets)
  let decoded = 0
  let streams = 0

  const resolve = (value: PdfValue | undefined): PdfValue | undefined => {
    if (value?.kind !== "reference") return value
    const resolved = read(value.object).value
    if (resolved.kind === "reference") throw new PdfError("a reference leads to another")
    return resolved
  }
  const stream = async (reference: PdfValue | undefined): Promise<PdfStream> => {
    if (reference?.kind !== "reference") throw new PdfError("a stream is missing")
    if (++streams > MAX_STREAMS) throw new PdfError("it has too many streams")
    const { value: dictionary, end } = read(reference.object)
    if (dictionary.kind !== "dictionary") throw new PdfError("a stream is missing")
    const raw = streamBytes(bytes, end, resolve(dictionary.entries.get("Length")))
    const filter = resolve(dictionary.entries.get("Filter"))
    if (filter === undefined) {
      decoded += raw.length
      if (decoded > MAX_DECODED_BYTES) throw new PdfError("its streams are too large")
      return { dictionary, data: raw }
    }
    if (filter.kind !== "name" || filter.name !== "FlateDecode" || dictionary.entries.has("DecodeParms"))
      throw new PdfError("a stream is encoded in another way than ours")
    const data = await inflate(raw, Math.min(MAX_STREAM_BYTES, MAX_DECODED_BYTES - decoded)).catch(() => {
      throw new PdfError("a stream cannot be decompressed within bounds")
    })
    decoded += data.length
    return { dictionary, data }
  }
  return { trailer, resolve, stream }
}

type Table = { readonly offsets: ReadonlyMap<number, number>; readonly trailer: PdfDictionary }

/** The one cross-reference table and its trailer. */
function readTable(bytes: Uint8Array, start: number): Table {
  const reader = readPdf(bytes, true)
  reader.moveTo(start)
  if (!word(reader.next(), "xref")) throw new PdfError("its cross-reference table is not where it says")
  const offsets = new Map<number, number>()
  let next = reader.next()
  while (next?.kind === "number") {
    const count = reader.next()
    if (count?.kind !== "number" || offsets.size + count.value > MAX_OBJECTS)
      throw new PdfError("it has too many objects")
    for (let i = 0; i < count.value; i++) {
      const offset = reader.next()
      const generation = reader.next()
      const use = reader.next()
      if (offset?.kind !== "number" || generation?.kind !== "number" || use?.kind !== "word")
        throw new PdfError("its cross-reference table is not exact")
      if (use.word !== "n") continue
      if (offsets.has(next.value + i) || generation.value !== 0) throw new PdfError("an object has two versions")
      offsets.set(next.value + i, offset.value)
    }
    next = reader.next()
  }
  const trailer = reader.next()
  if (!word(next, "trailer") || trailer?.kind !== "dictionary") throw new PdfError("its trailer is missing")
  for (const key of ["Prev", "XRefStm", "Encrypt"])
    if (trailer.entries.has(key)) throw new PdfError("it was changed, or encrypted, after it was made")
  return { offsets, trailer }
}

type PdfObject = { readonly value: PdfValue /** Where the bytes behind the value begin. */; readonly end: number }

/** Reads an object where the table says that it stands. All objects together are no longer than the file: none holds another. */
function objectReader(bytes: Uint8Array, offsets: ReadonlyMap<number, number>): (object: number) => PdfObject {
  const known = new Map<number, PdfObject>()
  let walked = 0
  return object => {
    const before = known.get(object)
    if (before !== undefined) return before
    const offset = offsets.get(object)
    if (offset === undefined) throw new PdfError("an object is missing")
    // No space before it either: a reader that passes over it would do so for every object.
    if (!isDigit(bytes[offset])) throw new PdfError("an object is not where the cross-reference table says")
    const reader = readPdf(bytes, true)
    reader.moveTo(offset)
    // `5 0 obj` is no reference: the two numbers come one by one.
    const [number, generation, obj] = [reader.next(), reader.next(), reader.next()]
    const named = number?.kind === "number" && number.value === object && generation?.kind === "number"
    if (!named || !word(obj, "obj")) throw new PdfError("an object is not where the cross-reference table says")
    const value = reader.next()
    if (value === undefined) throw new PdfError("an object is empty")
    const read = { value, end: reader.position() }
    walked += read.end - offset
    if (walked > bytes.length) throw new PdfError("its objects stand within each other")
    known.set(object, read)
    return read
  }
}

/** False where no byte is, so at places outside the file and between its bytes. */
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

/** A stream's raw bytes: between `stream` and `endstream`, exactly as long as its dictionary says. ISO 32000-1 §7.3.8. */
function streamBytes(bytes: Uint8Array, at: number, length: PdfValue | undefined): Uint8Array {
  const open = /^stream\r?\n/.exec(latin1(bytes.subarray(at, at + 8)))
  if (open === null) throw new PdfError("a stream is missing")
  if (length?.kind !== "number" || !Number.isSafeInteger(length.value) || length.value < 0)
    throw new PdfError("a stream does not tell its length")
  const from = at + open[0].length
  const to = from + length.value
  if (!/^\r?\n?endstream/.test(latin1(bytes.subarray(to, to + 11))))
    throw new PdfError("a stream is longer or shorter than it says")
  return bytes.subarray(from, to)
}
