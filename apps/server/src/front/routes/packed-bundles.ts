/**
 * Entry bundles with gzip. A bundle never changes, so that a full one is compressed once and cached. The cache and the number of bundles
 * being compressed are bounded; a request in the queue holds no bytes yet.
 */
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { TILE_WIDTH, type TileAddress, tilePath } from "@runseal/log/merkle/tiles"

/** Compressed bytes in the cache: some 500 full bundles. */
const MAX_CACHED_BYTES = 16_777_216
/** Bundles that are read and compressed at one time; Node has four threads for such work. */
const MAX_AT_ONCE = 2
/** Compresses to a quarter, in some milliseconds; a higher level saves one per cent more. */
const LEVEL = 6

const compress = promisify(gzip)

/** The bundle at an address, compressed. Rejects as the reader does. */
export type PackBundle = (address: TileAddress) => Promise<Uint8Array<ArrayBuffer>>

/** @param read the plain bytes of a bundle that the log holds */
export function createBundleCompressor(read: (address: TileAddress) => Promise<Uint8Array>): PackBundle {
  const cache = new Map<string, Uint8Array<ArrayBuffer>>()
  let cachedBytes = 0
  const underWay = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()
  const waiting: (() => void)[] = []
  let free = MAX_AT_ONCE

  const withSlot = async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1
    else await new Promise<void>(start => waiting.push(start))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }

  const store = (path: string, bytes: Uint8Array<ArrayBuffer>): void => {
    cache.set(path, bytes)
    cachedBytes += bytes.length
    for (const [oldest, { length }] of cache) {
      if (cachedBytes <= MAX_CACHED_BYTES) return
      cache.delete(oldest)
      cachedBytes -= length
    }
  }

  return address => {
    const path = tilePath(address)
    const cached = cache.get(path)
    if (cached !== undefined) return Promise.resolve(cached)
    const earlier = underWay.get(path)
    if (earlier !== undefined) return earlier
    const packed = withSlot(async () => {
      const bytes = new Uint8Array(await compress(await read(address), { level: LEVEL }))
      if (address.width === TILE_WIDTH) store(path, bytes)
      return bytes
    }).finally(() => underWay.delete(path))
    underWay.set(path, packed)
    return packed
  }
}
