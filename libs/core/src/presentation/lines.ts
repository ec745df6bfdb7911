/** Splits a stream of bytes into lines; memory holds one line. */
import { savedText } from "./saved-text.ts"

const NEWLINE = 0x0a
/** JSON whitespace (RFC 8259 §2) other than a newline. */
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09

const isBlankByte = (byte: number | undefined): boolean => byte === SPACE || byte === CARRIAGE_RETURN || byte === TAB

export type NumberedLine = {
  /** From 1, blank lines counted, as editors count. */
  readonly number: number
  /** Without its newline; absent for a line longer than allowed. */
  readonly bytes?: Uint8Array
}

/**
 * The lines of a stream that hold more than whitespace, without a byte order mark at the start of the stream. A line beyond `maxBytes` comes
 * without its bytes. Blank lines are skipped without copying them.
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<NumberedLine> {
  let number = 1
  let parts: Uint8Array[] = []
  let size = 0
  const take = (part: Uint8Array): void => {
    size += part.length
    if (size > maxBytes) parts = []
    else parts.push(part)
  }
  for await (const chunk of chunks) {
    let start = 0
    while (start < chunk.length) {
      let at = start
      if (size === 0) {
        for (; chunk[at] === NEWLINE || isBlankByte(chunk[at]); at++) {
          if (chunk[at] !== NEWLINE) continue
          number++
          start = at + 1
        }
      }
      const end = chunk.indexOf(NEWLINE, at)
      take(chunk.subarray(start, end === -1 ? chunk.length : end))
      if (end === -1) break
      start = end + 1
      yield* lineOf(number, parts, size, maxBytes)
      number++
      parts = []
      size = 0
    }
  }
  yield* lineOf(number, parts, size, maxBytes)
}

function* lineOf(
  number: number,
  parts: readonly Uint8Array[],
  size: number,
  maxBytes: number,
): Generator<NumberedLine> {
  if (size > maxBytes) yield { number }
  else if (!parts.every(part => part.every(isBlankByte))) {
    const [only] = parts
    const bytes = only !== undefined && parts.length === 1 ? only : joined(parts, size)
    yield { number, bytes: number === 1 ? savedText(bytes) : bytes }
  }
}

/** The parts as one. A sender can make more of them than a function takes as arguments. */
function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
