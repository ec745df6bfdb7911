/**
 * Whether inclusion proofs can be of one tree, RFC 6962 §2.1: a complete subtree has one hash in every tree of a log, however far
 * the log has grown. Nodes that two proofs share must have one hash, and a tree whose frontier they give must have that root.
 */
import { decodeBase64, decodeSafeDecimal, equalBytes } from "@runseal/canonical"
import {
  completeSubtrees,
  foldRight,
  HASH_BYTES,
  hashLeaf,
  hashNode,
  type InclusionClaim,
  inclusionPath,
  type NodeId,
  type TreeNode,
} from "../merkle/rfc6962.ts"
import type { TransparencyLogEntry } from "./log-entry.ts"

/** What an entry claims about the tree it is in. Nothing is verified. */
export function claimOf(entry: Proven): InclusionClaim {
  const { logIndex, treeSize, rootHash, hashes } = entry.inclusionProof
  return {
    leafHash: hashLeaf(bytesOf(entry.canonicalizedBody)),
    index: decodeSafeDecimal(logIndex) ?? -1,
    size: decodeSafeDecimal(treeSize) ?? -1,
    proof: hashes.map(bytesOf),
    root: bytesOf(rootHash),
  }
}

const bytesOf = (base64: string): Uint8Array => decodeBase64(base64) ?? Uint8Array.of()

/** At each level at most two. */
type Nodes = readonly (readonly TreeNode[] | undefined)[]
type Head = Pick<InclusionClaim, "size" | "root">

/** The nodes that proofs have shown of a log so far, as far as the proof of a later entry can touch them. */
export type TreeView = { readonly nodes: Nodes; readonly head?: Head }

export const NOTHING_SEEN: TreeView = { nodes: [] }

const nodeAt = (nodes: Nodes, { level, index }: NodeId): TreeNode | undefined =>
  nodes[level]?.find(node => node.index === index)

/** What one proof shows; nothing when the proof is not valid, which another check reports. Never throws. */
export function viewOf(claim: InclusionClaim): TreeView {
  const { index, size, leafHash, proof, root } = claim
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return NOTHING_SEEN
  const path = inclusionPath(index, size)
  if (path.length !== proof.length || proof.some(hash => hash.length !== HASH_BYTES)) return NOTHING_SEEN
  const nodes: TreeNode[][] = []
  const add = (node: TreeNode): void => {
    const level = nodes[node.level]
    if (level === undefined) nodes[node.level] = [node]
    else level.push(node)
  }
  let [start, end, hash] = [index, index + 1, leafHash]
  add({ level: 0, index, hash })
  for (const [step, row] of path.entries()) {
    const [first, last, sibling] = [row[0], row.at(-1), proof[step]]
    if (first === undefined || last === undefined || sibling === undefined) return NOTHING_SEEN
    if (row.length === 1) add({ ...first, hash: sibling })
    const isLeft = first.index * 2 ** first.level < start
    hash = isLeft ? hashNode(sibling, hash) : hashNode(hash, sibling)
    if (isLeft) start = first.index * 2 ** first.level
    else end = (last.index + 1) * 2 ** last.level
    const [covering, ...more] = completeSubtrees(start, end)
    if (covering !== undefined && more.length === 0) add({ ...covering, hash })
  }
  return equalBytes(hash, root) ? { nodes, head: { size, root } } : NOTHING_SEEN
}

/** Views of entries that were examined: a proof is folded once for all checks of a document. An entry that was read is never changed. */
const examined = new WeakMap<Proven, TreeView>()
type Proven = Pick<TransparencyLogEntry, "inclusionProof" | "canonicalizedBody">

/** `viewOf` what an entry claims, which has a head exactly when its inclusion proof is valid. */
export function entryView(entry: Proven): TreeView {
  const known = examined.get(entry)
  if (known !== undefined) return known
  const view = viewOf(claimOf(entry))
  examined.set(entry, view)
  return view
}

/** Whether no tree can contain both: a subtree has two hashes, or a size two roots. */
export function areOfTwoTrees(one: TreeView, other: TreeView): boolean {
  const isOther = (node: TreeNode): boolean => {
    const same = nodeAt(other.nodes, node)
    return same !== undefined && !equalBytes(same.hash, node.hash)
  }
  if (one.nodes.some(level => level?.some(isOther))) return true
  const heads = [one.head, other.head].filter(head => head !== undefined)
  const hashOf = (node: NodeId): Uint8Array | undefined => (nodeAt(one.nodes, node) ?? nodeAt(other.nodes, node))?.hash
  const [first, second] = heads
  if (first !== undefined && second?.size === first.size && !equalBytes(first.root, second.root)) return true
  return heads.some(({ size, root }) => {
    const hashes = completeSubtrees(0, size).map(hashOf)
    return isWhole(hashes) && !equalBytes(foldRight(hashes), root)
  })
}

const isWhole = (hashes: readonly (Uint8Array | undefined)[]): hashes is readonly Uint8Array[] =>
  hashes.every(hash => hash !== undefined)

/**
 * The view after a further entry. Earlier nodes are retained as far as the proofs of this and later entries can touch them, so that
 * each of entries in rising order is compared with all before it.
 * @param index of the further entry
 */
export function seenFurther(before: TreeView, further: TreeView, index: number): TreeView {
  const levels = Math.max(before.nodes.length, further.nodes.length)
  const nodes = Array.from({ length: levels }, (_, level) => {
    const added = further.nodes[level] ?? []
    const parent = Math.floor(index / 2 ** (level + 1))
    const isBeside = (node: TreeNode): boolean => Math.floor(node.index / 2) === parent
    const siblings = (before.nodes[level] ?? []).filter(
      node => isBeside(node) && nodeAt(further.nodes, node) === undefined,
    )
    return [...added, ...siblings]
  })
  const head = further.head ?? before.head
  return { nodes, ...(head === undefined ? {} : { head }) }
}
