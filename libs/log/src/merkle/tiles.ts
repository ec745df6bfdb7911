import {
  assembleProof,
  completeSubtrees,
  consistencyPath,
  foldRight,
  HASH_BYTES,
  hashNode,
  inclusionPath,
  type NodeId,
  type ProofPlan,
} from "./rfc6962.ts"

/** Tree hashes in files of 256, as C2SP tlog-tiles lays them out. */

/** Levels of the tree from one row of tiles to the next. */
export const TILE_HEIGHT = 8
/** Hashes in a full tile, entries in a full bundle. */
export const TILE_WIDTH = 256
/** tlog-tiles allows 63; a tree of at most 2^53−1 leaves has no hash above level 6. */
export const MAX_TILE_LEVEL = 6

/** A tile: `width` hashes of row `level` starting at `index`·256, or for "entries" that many log entries. */
export interface TileAddress {
  readonly level: number | "entries"
  readonly index: number
  /** 1 … 256; below 256 the tile is partial. */
  readonly width: number
}

/** Where a node's hash comes from: the fold of `count` hashes of tile (`level`, `index`), from offset `first`. */
export interface TileSlice {
  readonly level: number
  readonly index: number
  readonly first: number
  readonly count: number
}

/** Reads the first `width` hashes of a tile: exactly `width`·32 bytes. A rejection passes through to the caller. */
export type ReadTile = (level: number, index: number, width: number) => Promise<Uint8Array>

/** Path of a tile below the log's prefix, such as `tile/0/x001/067.p/112`. */
export function tilePath({ level, index, width }: TileAddress): string {
  const groups = index
    .toString()
    .padStart(3, "0")
    .split(/(?=(?:\d{3})+$)/)
  const last = groups.length - 1
  const path = groups.map((group, at) => (at < last ? "x" : "") + group.padStart(3, "0")).join("/")
  return `tile/${level}/${path}${width === TILE_WIDTH ? "" : `.p/${width}`}`
}

/** The tile a path names; undefined for any spelling `tilePath` would not write and for tiles no tree here can have. */
export function parseTilePath(path: string): TileAddress | undefined {
  const match = /^tile\/(entries|[0-6])\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([0-9]{1,3}))?$/.exec(path)
  if (match === null) return undefined
  const [, row, groups = "", width] = match
  const level = row === "entries" ? row : Number(row)
  const index = Number(groups.replaceAll(/[x/]/g, ""))
  const tile: TileAddress = { level, index, width: width === undefined ? TILE_WIDTH : Number(width) }
  const leaves = (index * TILE_WIDTH + tile.width) * TILE_WIDTH ** (level === "entries" ? 0 : level)
  if (tile.width === 0 || !Number.isSafeInteger(leaves)) return undefined
  return tilePath(tile) === path ? tile : undefined
}

/** Hashes of tile (`level`, `index`) in a tree of `size` leaves: 0 when it does not exist yet, 256 when it is full. */
export function tileWidth(level: number, index: number, size: number): number {
  const hashesInRow = Math.floor(size / TILE_WIDTH ** level)
  return Math.min(Math.max(hashesInRow - index * TILE_WIDTH, 0), TILE_WIDTH)
}

/** Which hashes of which tile give a complete node's hash. */
export function tileOfNode({ level, index }: NodeId): TileSlice {
  const row = Math.floor(level / TILE_HEIGHT)
  const count = 2 ** (level - row * TILE_HEIGHT)
  const position = index * count
  const first = position % TILE_WIDTH
  return { level: row, index: (position - first) / TILE_WIDTH, first, count }
}

/** A node's hash from the bytes of its tile. The tile must reach that far: RangeError otherwise. */
export function nodeFromTile(node: NodeId, tile: Uint8Array): Uint8Array {
  const { first, count } = tileOfNode(node)
  if (tile.length < (first + count) * HASH_BYTES) {
    throw new RangeError(`The tile is too short for node ${node.index} of level ${node.level}.`)
  }
  return completeRoot(tile.subarray(first * HASH_BYTES, (first + count) * HASH_BYTES))
}

/** Inclusion proof of leaf `index` in the tree of `size` leaves, from its tiles. Rejects as `inclusionPath` throws. */
export async function buildInclusionProof(
  index: number,
  size: number,
  readTile: ReadTile,
): Promise<readonly Uint8Array[]> {
  return proofFromTiles(inclusionPath(index, size), size, readTile)
}

/** Consistency proof from `size1` to `size2` leaves, from the tiles of the larger tree. Rejects as `consistencyPath` throws. */
export async function buildConsistencyProof(
  size1: number,
  size2: number,
  readTile: ReadTile,
): Promise<readonly Uint8Array[]> {
  return proofFromTiles(consistencyPath(size1, size2), size2, readTile)
}

/** Root of the tree of `size` leaves, from its tiles. */
export async function rootFromTiles(size: number, readTile: ReadTile): Promise<Uint8Array> {
  return foldRight(await frontierFromTiles(size, readTile))
}

/** Hashes of `completeSubtrees(0, size)`, from which `rangeFromHashes` restores a log. */
export async function frontierFromTiles(size: number, readTile: ReadTile): Promise<readonly Uint8Array[]> {
  const frontier = completeSubtrees(0, size)
  return assembleProof(
    frontier.map(node => [node]),
    await hashReader([frontier], size, readTile),
  )
}

async function proofFromTiles(plan: ProofPlan, size: number, readTile: ReadTile): Promise<readonly Uint8Array[]> {
  return assembleProof(plan, await hashReader(plan, size, readTile))
}

/** Reads each tile the plan touches once, at its width in a tree of `size` leaves. */
async function hashReader(plan: ProofPlan, size: number, readTile: ReadTile): Promise<(node: NodeId) => Uint8Array> {
  const nameOf = (node: NodeId): string => {
    const { level, index } = tileOfNode(node)
    return tilePath({ level, index, width: tileWidth(level, index, size) })
  }
  const tiles = new Map(plan.flat().map(node => [nameOf(node), tileOfNode(node)]))
  const contents = new Map(
    await Promise.all(
      [...tiles].map(async ([name, { level, index }]) => {
        const width = tileWidth(level, index, size)
        const tile = await readTile(level, index, width)
        if (tile.length !== width * HASH_BYTES) {
          throw new RangeError(`${name} holds ${tile.length} bytes, not ${width * HASH_BYTES}.`)
        }
        return [name, tile] as const
      }),
    ),
  )
  return node => nodeFromTile(node, contents.get(nameOf(node)) ?? Uint8Array.of())
}

/** Root over a power of two of neighbouring hashes. */
function completeRoot(hashes: Uint8Array): Uint8Array {
  if (hashes.length === HASH_BYTES) return hashes
  const middle = hashes.length / 2
  return hashNode(completeRoot(hashes.subarray(0, middle)), completeRoot(hashes.subarray(middle)))
}
