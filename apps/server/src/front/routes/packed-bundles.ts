/**
 * Entry bundles with gzip. A bundle never changes, so a full one is compressed once and kept; the bytes kept and the work at one time are
 * bounded, and who waits for a turn holds nothing yet.
 */
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { TILE_WIDTH, type TileAddress, tilePath } from "@runseal/log/merkle/tiles"

/** Compressed bytes that are kept: some 500 full bundles. */
const MAX_KEPT_BYTES = 16_777_216
/** Bundles that are read and compressed at one time, of the four threads that Node has for such work. */
const MAX_AT_ONCE = 2
/** A quarter of the plain bytes, in some milliseconds; a higher level gives a hundredth less. */
const LEVEL = 6

const compress = promisify(gzip)

/** The bundle at an address, compressed. Rejects as the reader does. */
export type PackBundle = (address: TileAddress) => Promise<Uint8Array<ArrayBuffer>>

/** @param read the plain bytes of a bundle that the log holds */
export function openPackedBundles(read: (address: TileAddress) => Promise<Uint8Array>): PackBundle {
  const kept = new Map<string, Uint8Array<ArrayBuffer>>()
  let keptBytes = 0
  const underWay = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()
  const waiting: (() => void)[] = []
  let free = MAX_AT_ONCE

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1
    else await new Promise<void>(turn => waiting.push(turn))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }

  const keep = (path: string, bytes: Uint8Array<ArrayBuffer>): void => {
    kept.set(path, bytes)
    keptBytes += bytes.length
    for (const [oldest, { length }] of kept) {
      if (keptBytes <= MAX_KEPT_BYTES) return
      kept.delete(oldest)
      keptBytes -= length
    }
  }

  return address => {
    const path = tilePath(address)
    const known = kept.get(path)
    if (known !== undefined) return Promise.resolve(known)
    const begun = underWay.get(path)
    if (begun !== undefined) return begun
    const packed = inTurn(async () => {
      const bytes = new Uint8Array(await compress(await read(address), { level: LEVEL }))
      if (address.width === TILE_WIDTH) keep(path, bytes)
      return bytes
    }).finally(() => underWay.delete(path))
    underWay.set(path, packed)
    return packed
  }
}
