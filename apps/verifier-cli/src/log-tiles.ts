/** Tiles and entry bundles of an audited log: each is read whole and has the size that follows from the audited tree. C2SP tlog-tiles. */
import { equalBytes } from "@runseal/canonical"
import { decodeEntryBundle, MAX_ENTRY_BYTES } from "@runseal/log/merkle/entry-bundle"
import { HASH_BYTES, hashLeaf } from "@runseal/log/merkle/rfc6962"
import { type ReadTile, TILE_WIDTH, tilePath, tileWidth } from "@runseal/log/merkle/tiles"
import type { RebuiltTile } from "@runseal/log/merkle/tree-rebuild"
import { AuditFailure } from "./log-failure.ts"
import type { LogSource } from "./log-source.ts"
import type { ReadLimits } from "./read-input.ts"

/** Timeout for each file of the log, milliseconds. */
const DEADLINE_MS = 30_000
const LENGTH_BYTES = 2
const TILE_LIMITS: ReadLimits = { maxBytes: TILE_WIDTH * HASH_BYTES, deadlineMs: DEADLINE_MS }
const BUNDLE_LIMITS: ReadLimits = {
  maxBytes: TILE_WIDTH * (LENGTH_BYTES + MAX_ENTRY_BYTES),
  deadlineMs: DEADLINE_MS,
}

/** Up to 256 entries and their leaf hashes, which the tile of row 0 holds as well. */
type EntryRow = { readonly entries: readonly Uint8Array[]; readonly hashes: readonly Uint8Array[] }

async function wholeTile(source: LogSource, level: number, index: number, width: number): Promise<Uint8Array> {
  const path = tilePath({ level, index, width })
  const tile = await source.read(path, TILE_LIMITS)
  if (tile.length === width * HASH_BYTES) return tile
  throw new AuditFailure("tiles", `${path} holds ${tile.length} bytes, not ${width} hashes.`)
}

/** Tiles that a reader holds: those of the upper rows are in every proof. */
const HELD_TILES = 32

/**
 * Reads the first hashes of a tile from that tile as the tree of `size` leaves has it, so that a copy needs no narrower tiles.
 * The last `HELD_TILES` are not read again. Rejects with AuditFailure or InputError.
 */
export function tileReader(source: LogSource, size: number): ReadTile {
  const held = new Map<string, Promise<Uint8Array>>()
  return async (level, index, width) => {
    const name = `${level}/${index}`
    const tile = held.get(name) ?? wholeTile(source, level, index, tileWidth(level, index, size))
    held.delete(name)
    held.set(name, tile)
    const [oldest = name] = held.keys()
    if (held.size > HELD_TILES) held.delete(oldest)
    return (await tile).subarray(0, width * HASH_BYTES)
  }
}

/** Entry bundle `index` of the log of `size` entries, compared with its tile. Rejects with AuditFailure or InputError. */
export async function readEntryRow(source: LogSource, index: number, size: number): Promise<EntryRow> {
  const width = tileWidth(0, index, size)
  const path = tilePath({ level: "entries", index, width })
  const [bundle, tile] = await Promise.all([source.read(path, BUNDLE_LIMITS), wholeTile(source, 0, index, width)])
  const entries = decodeEntryBundle(bundle, width)
  if (entries === undefined) throw new AuditFailure("entries", `${path} does not hold ${width} entries.`)
  const hashes = entries.map(hashLeaf)
  const other = hashes.findIndex((hash, at) => !equalBytes(hash, tile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)))
  if (other === -1) return { entries, hashes }
  const place = tilePath({ level: 0, index, width })
  throw new AuditFailure("entries", `Entry ${index * TILE_WIDTH + other} is not the one that ${place} commits to.`)
}

/** Compares a rebuilt tile of row 1 or above with that of the log. Rejects with AuditFailure or InputError. */
export async function compareTile(source: LogSource, { level, index, hashes }: RebuiltTile): Promise<void> {
  const width = hashes.length / HASH_BYTES
  if (equalBytes(await wholeTile(source, level, index, width), hashes)) return
  throw new AuditFailure("tiles", `${tilePath({ level, index, width })} does not follow from the tiles below it.`)
}
