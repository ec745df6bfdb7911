import { isSurrogatePair, utf8Encode } from "./utf8.ts"

/** Bytes being written front to back. JSON text is made in bytes because that is what is hashed: no string is built on the way. */
export interface ByteSink {
  bytes: Uint8Array
  /** Bytes written so far. */
  length: number
  /** Offset at which the omitted member of an object would be written: after the member before it. */
  gap: number
  /** Whether the next writer may reuse it. */
  free: boolean
}

/** A sealed record takes some 30 KiB. */
const FIRST_BYTES = 65_536
/** A sink that grew beyond this is not reused: one large document does not hold memory for ever. */
const MAX_REUSED_BYTES = 1_048_576
/** Room beyond what is needed when a sink grows, at most. */
const MAX_SPARE_BYTES = 8_388_608
/** UTF-16 units of a string that are written at once: its escaped text is up to six times as long. */
const PART_UNITS = 65_536

/** A sink that one writer owns. */
export const newSink = (firstBytes: number): ByteSink => ({
  bytes: new Uint8Array(firstBytes),
  length: 0,
  gap: 0,
  free: false,
})

let shared: ByteSink = { ...newSink(FIRST_BYTES), free: true }

/** An empty sink: the shared one, or a new one while that is in use (a getter of the value may write as well). */
export function openSink(): ByteSink {
  if (!shared.free) return newSink(FIRST_BYTES)
  if (shared.bytes.length > MAX_REUSED_BYTES) shared = newSink(FIRST_BYTES)
  shared.free = false
  shared.length = 0
  return shared
}

/** What was written, without a copy. */
export const sinkBytes = (sink: ByteSink): Uint8Array => sink.bytes.subarray(0, sink.length)

/** Writes ASCII as it is. */
export function putAscii(sink: ByteSink, text: string): void {
  reserve(sink, text.length)
  for (let index = 0; index < text.length; index++) sink.bytes[sink.length + index] = text.charCodeAt(index)
  sink.length += text.length
}

/** Inserts ASCII at the offset `at`. */
export function insertAscii(sink: ByteSink, at: number, text: string): void {
  reserve(sink, text.length)
  sink.bytes.copyWithin(at + text.length, at, sink.length)
  sink.length += text.length
  for (let index = 0; index < text.length; index++) sink.bytes[at + index] = text.charCodeAt(index)
}

/** Writes bytes as they are. */
export function putBytes(sink: ByteSink, bytes: Uint8Array): void {
  reserve(sink, bytes.length)
  sink.bytes.set(bytes, sink.length)
  sink.length += bytes.length
}

/** Writes a JSON string in its RFC 8785 form (§3.2.2.2); false, and nothing, for a lone surrogate. */
export function putString(sink: ByteSink, text: string): boolean {
  reserve(sink, text.length + 2)
  const { bytes, length: start } = sink
  let at = start + 1
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return putOther(sink, text)
    bytes[at++] = unit
  }
  bytes[start] = 0x22
  bytes[at] = 0x22
  sink.length = at + 1
  return true
}

/** A string beyond plain ASCII: for well-formed text JSON.stringify escapes exactly what RFC 8785 does, in the same spelling. */
function putOther(sink: ByteSink, text: string): boolean {
  if (!text.isWellFormed()) return false
  if (text.length <= PART_UNITS) {
    putBytes(sink, utf8Encode(JSON.stringify(text)))
    return true
  }
  putAscii(sink, '"')
  for (let start = 0; start < text.length; ) {
    // A pair of surrogates stays together.
    const end = start + PART_UNITS - (isSurrogatePair(text, start + PART_UNITS - 1) ? 1 : 0)
    putBytes(sink, utf8Encode(JSON.stringify(text.slice(start, end))).subarray(1, -1))
    start = end
  }
  putAscii(sink, '"')
  return true
}

function reserve(sink: ByteSink, more: number): void {
  const needed = sink.length + more
  if (needed <= sink.bytes.length) return
  const bytes = new Uint8Array(needed + Math.min(needed, MAX_SPARE_BYTES))
  bytes.set(sink.bytes.subarray(0, sink.length))
  sink.bytes = bytes
}
