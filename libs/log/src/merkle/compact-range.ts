import { completeSubtrees, foldRight, hashNode, type TreeNode } from "./rfc6962.ts"

/** The frontier of a tree: the hashes of its fewest complete subtrees, left to right. Immutable. A log needs no more to grow. */
export interface CompactRange {
  /** Leaves covered. */
  readonly size: number
  readonly hashes: readonly Uint8Array[]
}

/** A range after one more leaf, and the complete nodes that leaf made, the leaf first, each next one its parent. */
export interface AppendResult {
  readonly range: CompactRange
  readonly nodes: readonly TreeNode[]
}

/** The tree without leaves. */
export const emptyRange: CompactRange = { size: 0, hashes: [] }

/** Appends a leaf hash. Throws RangeError at 2^53−1 leaves. */
export function appendLeaf(range: CompactRange, leafHash: Uint8Array): AppendResult {
  const { size, hashes } = range
  if (!Number.isSafeInteger(size + 1)) throw new RangeError("The tree is full.")
  let node: TreeNode = { level: 0, index: size, hash: leafHash }
  const nodes = [node]
  // An odd index is a right child: with its left sibling, the last hash of the frontier, it completes their parent.
  for (const left of hashes.toReversed()) {
    if (node.index % 2 === 0) break
    node = { level: node.level + 1, index: (node.index - 1) / 2, hash: hashNode(left, node.hash) }
    nodes.push(node)
  }
  const unchanged = hashes.slice(0, hashes.length - (nodes.length - 1))
  return { range: { size: size + 1, hashes: [...unchanged, node.hash] }, nodes }
}

/** Root of the tree (RFC 6962 §2.1). */
export function rootOf(range: CompactRange): Uint8Array {
  return foldRight(range.hashes)
}

/**
 * The range of a stored tree: `hashes` are those of `completeSubtrees(0, size)`, in that order. Throws RangeError when
 * their number is not what `size` asks for.
 */
export function rangeFromHashes(size: number, hashes: readonly Uint8Array[]): CompactRange {
  const expected = completeSubtrees(0, size).length
  if (hashes.length !== expected) {
    throw new RangeError(`A tree of ${size} leaves has ${expected} frontier hashes, not ${hashes.length}.`)
  }
  return { size, hashes: [...hashes] }
}
