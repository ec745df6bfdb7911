import { concatBytes } from "@runseal/canonical"
import { appendLeaf, type CompactRange, emptyRange, rangeFromHashes, rootOf } from "./compact-range.ts"
import { HASH_BYTES, type TreeNode } from "./rfc6962.ts"
import { frontierFromTiles, type ReadTile, TILE_HEIGHT, TILE_WIDTH } from "./tiles.ts"

/**
 * Rebuilds a tree from its leaves, with the tiles above them. An auditor compares a published log with it; its memory does not
 * grow with the log.
 */

/** A tile of row 1 or above, as the leaves make it: `hashes` are 1 to 256 times 32 bytes. */
export interface RebuiltTile {
  readonly level: number
  readonly index: number
  readonly hashes: Uint8Array
}

/** The state of a tree that a rebuild continues from. */
export interface RebuildStart {
  readonly range: CompactRange
  /** For row 1 and each above, the hashes since its last full tile, at most 255. */
  readonly edges: readonly (readonly Uint8Array[])[]
}

/** A tree that grows leaf by leaf. */
export interface TreeRebuild {
  readonly size: () => number
  readonly root: () => Uint8Array
  /** Takes the next leaf's hash; gives the tiles it has filled. Throws RangeError at 2^53−1 leaves. */
  readonly take: (leafHash: Uint8Array) => readonly RebuiltTile[]
  /** The tiles of row 1 and above that are not full yet. */
  readonly partialTiles: () => readonly RebuiltTile[]
}

/** The tree without leaves. */
export const emptyStart: RebuildStart = { range: emptyRange, edges: [] }

/**
 * The state after the first `size` leaves, from the tiles of that tree. Nothing is proved: a caller who knows the root compares it
 * with `rootOf(range)`, which covers every hash that was read. Rejects as `frontierFromTiles`.
 */
export async function startFromTiles(size: number, readTile: ReadTile): Promise<RebuildStart> {
  const range = rangeFromHashes(size, await frontierFromTiles(size, readTile))
  const edges: (readonly Uint8Array[])[] = []
  let nodes = Math.floor(size / TILE_WIDTH)
  for (let level = 1; nodes > 0; level++) {
    const width = nodes % TILE_WIDTH
    nodes = Math.floor(nodes / TILE_WIDTH)
    edges.push(width === 0 ? [] : hashesOf(await readTile(level, nodes, width)))
  }
  return { range, edges }
}

/** Continues from a start, which is not changed. */
export function rebuildTree(start: RebuildStart): TreeRebuild {
  let range = start.range
  const edges = start.edges.map(edge => [...edge])
  /** Adds a node to its tile; gives the tile once it is full. */
  const add = ({ level, index, hash }: TreeNode): readonly RebuiltTile[] => {
    const row = level / TILE_HEIGHT
    if (row === 0 || !Number.isInteger(row)) return []
    while (edges.length < row) edges.push([])
    const edge = edges[row - 1] ?? []
    edge.push(hash)
    if (edge.length < TILE_WIDTH) return []
    edges[row - 1] = []
    return [{ level: row, index: Math.floor(index / TILE_WIDTH), hashes: concatBytes(...edge) }]
  }
  return {
    size: () => range.size,
    root: () => rootOf(range),
    take: leafHash => {
      const appended = appendLeaf(range, leafHash)
      range = appended.range
      return appended.nodes.flatMap(add)
    },
    partialTiles: () =>
      edges.flatMap((edge, below): readonly RebuiltTile[] => {
        const level = below + 1
        const index = Math.floor(range.size / TILE_WIDTH ** (level + 1))
        return edge.length === 0 ? [] : [{ level, index, hashes: concatBytes(...edge) }]
      }),
  }
}

/** The hashes of a tile, one by one. */
function hashesOf(tile: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: tile.length / HASH_BYTES }, (_, at) => tile.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES))
}
