/** Takes a stream of bytes apart into lines, holding no more than one of them. */

const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d

export type NumberedLine = {
  /** From 1, blank lines counted, as editors count. */
  readonly number: number
  /** Without its line end; absent for a line longer than allowed, of which nothing was kept. */
  readonly bytes?: Uint8Array
}

/** The lines of a stream that are not blank. A line beyond `maxBytes` is passed over and told. */
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
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end))
      start = end + 1
      yield* lineOf(number, parts, size, maxBytes)
      number++
      parts = []
      size = 0
    }
    take(chunk.subarray(start))
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
  else {
    const [only, ...more] = parts
    const bytes = only !== undefined && more.length === 0 ? only : joined(parts, size)
    if (size > 1 || (size === 1 && bytes[0] !== CARRIAGE_RETURN)) yield { number, bytes }
  }
}

/** The parts as one. There may be as many as a sender likes, more than a function takes as arguments. */
function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
