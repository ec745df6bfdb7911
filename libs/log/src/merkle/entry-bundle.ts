import { TILE_WIDTH } from "./tiles.ts"

/** Entry bundles of C2SP tlog-tiles, "Log entries": each entry after its length as a big-endian uint16. */

/** The longest entry a uint16 can announce, in bytes. */
export const MAX_ENTRY_BYTES = 65_535

const LENGTH_BYTES = 2

/** Bytes of a bundle of 1 … 256 entries. Throws RangeError for another number of entries or one above `MAX_ENTRY_BYTES`. */
export function encodeEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  if (entries.length === 0 || entries.length > TILE_WIDTH) {
    throw new RangeError(`A bundle holds 1 to ${TILE_WIDTH} entries, not ${entries.length}.`)
  }
  const bundle = new Uint8Array(entries.reduce((total, entry) => total + LENGTH_BYTES + entry.length, 0))
  const view = viewOf(bundle)
  let at = 0
  for (const entry of entries) {
    if (entry.length > MAX_ENTRY_BYTES) throw new RangeError(`A log entry of ${entry.length} bytes is too long.`)
    view.setUint16(at, entry.length)
    bundle.set(entry, at + LENGTH_BYTES)
    at += LENGTH_BYTES + entry.length
  }
  return bundle
}

/** The `count` entries of a bundle; undefined when the bytes hold fewer, more, or a part of one. Never throws. */
export function decodeEntryBundle(bundle: Uint8Array, count: number): readonly Uint8Array[] | undefined {
  const view = viewOf(bundle)
  const entries: Uint8Array[] = []
  let at = 0
  while (at + LENGTH_BYTES <= bundle.length && entries.length < count) {
    const start = at + LENGTH_BYTES
    at = start + view.getUint16(at)
    entries.push(bundle.subarray(start, at))
  }
  return at === bundle.length && entries.length === count && count >= 1 && count <= TILE_WIDTH ? entries : undefined
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
