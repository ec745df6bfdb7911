/** Grows the log in memory: appends entries, builds their proofs, and returns the full tiles that the store then writes. */
import { concatBytes } from "@runseal/canonical"
import type { CompactRange } from "@runseal/log/merkle/compact-range"
import { appendLeaf, rootOf } from "@runseal/log/merkle/compact-range"
import type { NodeId } from "@runseal/log/merkle/rfc6962"
import { assembleProof, completeSubtrees, hashLeaf, inclusionPath } from "@runseal/log/merkle/rfc6962"
import { TILE_HEIGHT, TILE_WIDTH } from "@runseal/log/merkle/tiles"

/** The part of a log that is needed to append to it. */
export type LogFrontier = {
  readonly range: CompactRange
  /** Per tile level the hashes since the last full tile, at most 255. */
  readonly edges: readonly (readonly Uint8Array[])[]
}

type NewTile = { readonly level: number; readonly tile_index: number; readonly hashes: Uint8Array }

export type LogBuilder = {
  /** Appends an entry body and gives its index. */
  readonly append: (body: Uint8Array) => number
  readonly size: () => number
  readonly root: () => Uint8Array
  /** Inclusion proof of an entry appended here, in the tree of `size` leaves. */
  readonly proof: (index: number, size: number) => readonly Uint8Array[]
  readonly frontier: () => LogFrontier
  readonly tiles: () => readonly NewTile[]
}

const keyOf = ({ level, index }: NodeId): string => `${level}/${index}`

/** A builder that continues from a frontier. The frontier itself is not changed. */
export function growLog(start: LogFrontier): LogBuilder {
  let range = start.range
  const edges = start.edges.map(edge => [...edge])
  const tiles: NewTile[] = []
  // The left siblings of new leaves are nodes of the frontier or new ones: a proof needs no others.
  const nodes = new Map<string, Uint8Array>()
  completeSubtrees(0, range.size).forEach((node, i) => {
    const hash = range.hashes[i]
    if (hash !== undefined) nodes.set(keyOf(node), hash)
  })
  const takeIntoTile = (level: number, index: number, hash: Uint8Array): void => {
    while (edges.length <= level) edges.push([])
    const edge = edges[level] ?? []
    edge.push(hash)
    if (edge.length < TILE_WIDTH) return
    tiles.push({ level, tile_index: Math.floor(index / TILE_WIDTH), hashes: concatBytes(...edge) })
    edges[level] = []
  }
  const hashOf = (node: NodeId): Uint8Array => {
    const hash = nodes.get(keyOf(node))
    if (hash === undefined) throw new Error("a proof needs a node that is neither in the frontier nor new")
    return hash
  }
  return {
    append: body => {
      const index = range.size
      const appended = appendLeaf(range, hashLeaf(body))
      range = appended.range
      for (const node of appended.nodes) {
        nodes.set(keyOf(node), node.hash)
        if (node.level % TILE_HEIGHT === 0) takeIntoTile(node.level / TILE_HEIGHT, node.index, node.hash)
      }
      return index
    },
    size: () => range.size,
    root: () => rootOf(range),
    proof: (index, size) => assembleProof(inclusionPath(index, size), hashOf),
    frontier: () => ({ range, edges: edges.map(edge => [...edge]) }),
    tiles: () => tiles,
  }
}
