/**
 * Hashes of the log's complete subtrees, of which every proof is made. Such a subtree never changes, so what was read or
 * computed once is remembered, within a bound: the right edge of the tree and its upper levels are in every proof.
 */
import { concatBytes } from "@runseal/canonical"
import { HASH_BYTES, type NodeId } from "@runseal/log/merkle/rfc6962"
import { nodeFromTile, TILE_HEIGHT, TILE_WIDTH, tileOfNode, tileWidth } from "@runseal/log/merkle/tiles"
import type { Source } from "../driver/session.ts"
import { readTileSlice } from "./log-store.ts"

/** Some 200 bytes each: the upper levels of a log of 8 million entries, and what was asked for last. */
const MAX_REMEMBERED_NODES = 32_768

export type LogNodes = {
  /**
   * The hashes of nodes of a tree of `size` leaves, as a function that throws for any other node.
   * @throws StoreError "corrupt" when the log has not grown to one of them
   */
  readonly read: (source: Source, nodes: readonly NodeId[], size: number) => Promise<(node: NodeId) => Uint8Array>
}

/** Remembers what is read through it; only committed reads may go there. */
export function rememberNodes(limit: number = MAX_REMEMBERED_NODES): LogNodes {
  const remembered = new Map<string, Uint8Array>()
  const remember = (name: string, hash: Uint8Array): void => {
    remembered.delete(name)
    remembered.set(name, hash)
    for (const oldest of remembered.keys()) {
      if (remembered.size <= limit) return
      remembered.delete(oldest)
    }
  }
  return {
    read: async (source, nodes, size) => {
      const hashes = new Map<string, Uint8Array>()
      const missing: NodeId[] = []
      for (const node of nodes) {
        const hash = remembered.get(nameOf(node))
        if (hash === undefined) missing.push(node)
        else hashes.set(nameOf(node), hash)
      }
      await Promise.all(byTile(missing).map(async together => readTogether(source, together, size, hashes)))
      for (const [name, hash] of hashes) remember(name, hash)
      return node => {
        const hash = hashes.get(nameOf(node))
        if (hash === undefined) throw new Error(`node ${nameOf(node)} was not asked for`)
        return hash
      }
    },
  }
}

const nameOf = ({ level, index }: NodeId): string => `${level}/${index}`

/** Nodes whose hashes come from the same tile, together. */
function byTile(nodes: readonly NodeId[]): readonly (readonly NodeId[])[] {
  const tiles = new Map<string, NodeId[]>()
  for (const node of nodes) {
    const name = nameOf(tileOfNode(node))
    const together = tiles.get(name)
    if (together === undefined) tiles.set(name, [node])
    else together.push(node)
  }
  return [...tiles.values()]
}

/** Reads nodes of one tile: of a full one all of it, of one that is growing no more than reaches from the first to the last. */
async function readTogether(
  source: Source,
  nodes: readonly NodeId[],
  size: number,
  hashes: Map<string, Uint8Array>,
): Promise<void> {
  const slices = nodes.map(tileOfNode)
  const [tile] = slices
  if (tile === undefined) return
  const full = tileWidth(tile.level, tile.index, size) === TILE_WIDTH
  const first = full ? 0 : Math.min(...slices.map(slice => slice.first))
  const end = full ? TILE_WIDTH : Math.max(...slices.map(slice => slice.first + slice.count))
  const read = await readTileSlice(source, tile.level, tile.index, first, end)
  nodes.forEach((node, at) => {
    const { first: from, count } = slices[at] ?? tile
    const own = read.subarray((from - first) * HASH_BYTES, (from - first + count) * HASH_BYTES)
    // A copy: a view of a leaf's hash would keep the whole tile in memory.
    hashes.set(nameOf(node), new Uint8Array(nodeFromTile({ level: node.level % TILE_HEIGHT, index: 0 }, own)))
  })
}

/** The first `width` (1 … 256) hashes of a tile of a tree of `size` leaves. */
export async function readTileThrough(
  nodes: LogNodes,
  source: Source,
  { level, index, width }: { readonly level: number; readonly index: number; readonly width: number },
  size: number,
): Promise<Uint8Array> {
  if (width === TILE_WIDTH) return readTileSlice(source, level, index, 0, TILE_WIDTH)
  const leaves = Array.from(
    { length: width },
    (_, at): NodeId => ({
      level: level * TILE_HEIGHT,
      index: index * TILE_WIDTH + at,
    }),
  )
  return concatBytes(...leaves.map(await nodes.read(source, leaves, size)))
}
