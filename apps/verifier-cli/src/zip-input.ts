/**
 * Reads the ZIP that a service makes for an auditor, or one that somebody packed again. It refuses what two programs could read in two ways,
 * and inflates nothing before the sizes of all entries are known. APPNOTE.TXT of PKWARE, sections 4.3 and 4.4. Loaded only for a ZIP.
 */
import { inflateRawSync } from "node:zlib"
import { InputError } from "./exit-answer.ts"

/** Entries of one file. */
export const ZIP_MAX_ENTRIES = 16
/** Bytes of all entries together, unpacked. */
export const ZIP_MAX_UNPACKED_BYTES = 67_108_864
/** A name without folders, of signs that every system writes alike. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

const LOCAL_HEADER = { signature: 0x04034b50, bytes: 30 }
const CENTRAL_HEADER = { signature: 0x02014b50, bytes: 46 }
const END = { signature: 0x06054b50, bytes: 22 }
/** Values that say that the true ones are in a ZIP64 part. */
const ZIP64 = { count: 0xffff, size: 0xffffffff, extra: 0x0001 }
/** The extra field of Info-ZIP whose name takes the place of the one in the header. */
const SECOND_NAME = 0x7075
/** What the mode of a symbolic link has in its highest bits. */
const LINK = { mask: 0xf000, mode: 0xa000 }
/** Bits 0, 6 and 13: encrypted, strongly encrypted, names hidden. */
const ENCRYPTED = 0x2041
/** Bits 1, 2 and 11: how hard it was compressed, and names in UTF-8. */
const HARMLESS = 0x0806
const STORED = 0
const DEFLATED = 8

/** What the reader of a ZIP gets: entries by name, in their order. */
export type ZipEntries = ReadonlyMap<string, Uint8Array>

type Entry = {
  readonly name: string
  readonly method: number
  readonly crc: number
  readonly packed: Uint8Array
  readonly size: number
}

/** The entries of a ZIP, unpacked. Throws InputError. */
export function readZip(bytes: Uint8Array): ZipEntries {
  const entries = directoryOf(bytes)
  const unpacked = entries.reduce((sum, { size }) => sum + size, 0)
  if (unpacked > ZIP_MAX_UNPACKED_BYTES) throw refusal(`it unpacks to more than ${ZIP_MAX_UNPACKED_BYTES} bytes`)
  return new Map(entries.map(entry => [entry.name, unpack(entry)]))
}

const refusal = (sentence: string): InputError => new InputError(`The ZIP is not read: ${sentence}.`)

/** The entries as the directory at the end lists them: all bytes of the file belong to one of them. */
function directoryOf(bytes: Uint8Array): readonly Entry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = bytes.length - END.bytes
  if (end < 0 || view.getUint32(end, true) !== END.signature || view.getUint16(end + 20, true) !== 0)
    throw refusal("it is cut off, or has something behind its end")
  const [count, all] = [view.getUint16(end + 8, true), view.getUint16(end + 10, true)]
  const [size, start] = [view.getUint32(end + 12, true), view.getUint32(end + 16, true)]
  if (count === ZIP64.count || size === ZIP64.size || start === ZIP64.size) throw refusal(IS_ZIP64)
  if (view.getUint32(end + 4, true) !== 0 || count !== all) throw refusal("it is one part of several")
  if (count === 0) throw refusal("it is empty")
  if (count > ZIP_MAX_ENTRIES) throw refusal(`it has more than ${ZIP_MAX_ENTRIES} entries`)
  if (start + size !== end) throw refusal(CONTRADICTS)
  const entries: Entry[] = []
  let [at, dataEnd] = [start, 0]
  for (let i = 0; i < count; i += 1) {
    const found = entryAt(bytes, at, dataEnd, end)
    entries.push(found.entry)
    at = found.next
    dataEnd = found.dataEnd
  }
  if (at !== end || dataEnd !== start) throw refusal(CONTRADICTS)
  refuseTwins(entries)
  return entries
}

const IS_ZIP64 = "it is ZIP64, which a file of this size does not need"
const CONTRADICTS = "its directory does not describe all of its bytes"

/** Systems that do not tell capital letters apart would keep one of two. */
function refuseTwins(entries: readonly Entry[]): void {
  const names = new Set(entries.map(({ name }) => name.toLowerCase()))
  if (names.size !== entries.length) throw refusal("it has two entries of one name")
}

/** @param at where the entry is in the directory. @param begin where its data must begin: right behind the one before */
function entryAt(
  bytes: Uint8Array,
  at: number,
  begin: number,
  end: number,
): { readonly entry: Entry; readonly next: number; readonly dataEnd: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (at + CENTRAL_HEADER.bytes > end || view.getUint32(at, true) !== CENTRAL_HEADER.signature)
    throw refusal(CONTRADICTS)
  const [flags, method, crc] = [
    view.getUint16(at + 8, true),
    view.getUint16(at + 10, true),
    view.getUint32(at + 16, true),
  ]
  const [packedSize, size] = [view.getUint32(at + 20, true), view.getUint32(at + 24, true)]
  const [nameLength, extraLength] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true)]
  const next = at + CENTRAL_HEADER.bytes + nameLength + extraLength + view.getUint16(at + 32, true)
  if (next > end) throw refusal(CONTRADICTS)
  const nameAt = at + CENTRAL_HEADER.bytes
  const name = nameIn(bytes, nameAt, nameLength)
  if ((flags & ENCRYPTED) !== 0) throw refusal("it is encrypted")
  if (packedSize === ZIP64.size || size === ZIP64.size) throw refusal(IS_ZIP64)
  checkExtras(view, nameAt + nameLength, extraLength)
  if ((view.getUint16(at + 40, true) & LINK.mask) === LINK.mode) throw refusal(`${name} is a link to another file`)
  if ((flags & ~HARMLESS) !== 0 || (method !== STORED && method !== DEFLATED))
    throw refusal("an entry is packed in a way that is not read here: pack the files again, each stored or deflated")
  if (method === STORED && packedSize !== size) throw refusal(CONTRADICTS)
  if (view.getUint32(at + 42, true) !== begin) throw refusal(CONTRADICTS)
  const data = begin + localHeader(bytes, begin, { at, nameLength, name })
  if (data + packedSize > end) throw refusal(CONTRADICTS)
  const packed = bytes.subarray(data, data + packedSize)
  return { entry: { name, method, crc, packed, size }, next, dataEnd: data + packedSize }
}

/** The name of an entry, which must not lead into a folder. */
function nameIn(bytes: Uint8Array, at: number, length: number): string {
  const name = Buffer.from(bytes.subarray(at, at + length)).toString("latin1")
  if (!NAME.test(name))
    throw refusal(
      "an entry has a name with a path, or with other signs than letters, digits, dots, dashes and underscores",
    )
  return name
}

/** The extra fields of a header must hold neither sizes of 64 bits nor a name. */
function checkExtras(view: DataView, begin: number, length: number): void {
  const end = begin + length
  let at = begin
  while (at + 4 <= end) {
    const id = view.getUint16(at, true)
    if (id === ZIP64.extra) throw refusal(IS_ZIP64)
    if (id === SECOND_NAME) throw refusal("an entry has a second name, which other programs would use")
    at += 4 + view.getUint16(at + 2, true)
  }
  if (at !== end) throw refusal(CONTRADICTS)
}

/** Bytes of the header before an entry's data, which must say what the directory says. */
function localHeader(
  bytes: Uint8Array,
  begin: number,
  listed: { readonly at: number; readonly nameLength: number; readonly name: string },
): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (
    begin + LOCAL_HEADER.bytes + listed.nameLength > bytes.length ||
    view.getUint32(begin, true) !== LOCAL_HEADER.signature
  )
    throw refusal(CONTRADICTS)
  // Flags, method, time, CRC, both sizes and the length of the name: the same bytes in the same order.
  const [here, there] = [begin + 6, listed.at + 8]
  for (let i = 0; i < 22; i += 1) if (view.getUint8(here + i) !== view.getUint8(there + i)) throw refusal(CONTRADICTS)
  if (nameIn(bytes, begin + LOCAL_HEADER.bytes, listed.nameLength) !== listed.name) throw refusal(CONTRADICTS)
  const length = LOCAL_HEADER.bytes + listed.nameLength
  const extraLength = view.getUint16(begin + 28, true)
  if (begin + length + extraLength > bytes.length) throw refusal(CONTRADICTS)
  checkExtras(view, begin + length, extraLength)
  return length + extraLength
}

/** The bytes of an entry: as many as it says, and those whose checksum it has. */
function unpack({ name, method, crc, packed, size }: Entry): Uint8Array {
  const bytes = method === STORED ? packed : inflate(packed, size)
  if (bytes?.length !== size || crc32(bytes) !== crc)
    throw refusal(`${name} is damaged, or is not what the ZIP says of it`)
  return bytes
}

/** Never more than the size that the directory gave; undefined for data that is no Deflate, is longer, or has something behind it. */
function inflate(packed: Uint8Array, size: number): Uint8Array | undefined {
  try {
    // With info, Node says how much of the input it took. Its types do not know that.
    const inflated: unknown = inflateRawSync(packed, { maxOutputLength: Math.max(size, 1), info: true })
    return wholeOf(inflated, packed.length)
  } catch {
    return undefined
  }
}

function wholeOf(inflated: unknown, taken: number): Uint8Array | undefined {
  if (typeof inflated !== "object" || inflated === null || !("buffer" in inflated) || !("engine" in inflated))
    return undefined
  const { buffer, engine } = inflated
  if (typeof engine !== "object" || engine === null || !("bytesWritten" in engine)) return undefined
  return buffer instanceof Uint8Array && engine.bytesWritten === taken ? buffer : undefined
}

const CRC_POLYNOMIAL = 0xedb88320
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = (value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ CRC_POLYNOMIAL
  return value
})

/** CRC-32 of ISO 3309. Node.js 20.12 has none of its own. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}
