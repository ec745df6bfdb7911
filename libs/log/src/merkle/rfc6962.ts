import { concatBytes, equalBytes, sha256 } from "@runseal/canonical"

/**
 * The Merkle tree of RFC 6962 §2.1 and RFC 9162 §2.1. The maths here says which nodes a proof is made of; a store reads
 * them. Sizes and indexes are safe integers, up to 2^53−1, so no 32-bit operators appear.
 */

/** Bytes of a SHA-256 tree hash. */
export const HASH_BYTES = 32

/** Root of the tree without leaves: SHA-256 of nothing. */
export const EMPTY_ROOT: Uint8Array = sha256(Uint8Array.of())

const LEAF_PREFIX = Uint8Array.of(0x00)

/** A complete subtree: it covers the leaves `index·2^level` up to, not including, `(index+1)·2^level`. */
export interface NodeId {
  readonly level: number
  readonly index: number
}

/** A complete subtree with its hash. */
export interface TreeNode extends NodeId {
  readonly hash: Uint8Array
}

/**
 * What a proof is made of: one row per proof hash, each row the complete subtrees whose fold gives that hash, left to
 * right. Only complete subtrees appear, since a store keeps no others.
 */
export type ProofPlan = readonly (readonly NodeId[])[]

/** What `verifyInclusion` needs: the leaf with `leafHash` sits at `index` in the tree of `size` leaves with `root`. */
export interface InclusionClaim {
  readonly leafHash: Uint8Array
  readonly index: number
  readonly size: number
  readonly proof: readonly Uint8Array[]
  readonly root: Uint8Array
}

/** What `verifyConsistency` needs: the tree (`size1`, `root1`) is a prefix of the tree (`size2`, `root2`). */
export interface ConsistencyClaim {
  readonly size1: number
  readonly size2: number
  readonly root1: Uint8Array
  readonly root2: Uint8Array
  readonly proof: readonly Uint8Array[]
}

/** SHA-256(0x00 ‖ entry), RFC 6962 §2.1. */
export function hashLeaf(entry: Uint8Array): Uint8Array {
  return sha256(concatBytes(LEAF_PREFIX, entry))
}

/** What `hashNode` hashes. One for all calls: making an array of more than 64 bytes takes as long as hashing it. */
const pair = new Uint8Array(1 + 2 * HASH_BYTES)
pair[0] = 0x01

/** SHA-256(0x01 ‖ left ‖ right), RFC 6962 §2.1. @throws RangeError when the two together have more than 64 bytes */
export function hashNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  pair.set(left, 1)
  pair.set(right, 1 + left.length)
  return sha256(pair.subarray(0, 1 + left.length + right.length))
}

/** RFC 9162 §2.1.3.2. False for anything malformed; never throws. */
export function verifyInclusion({ leafHash, index, size, proof, root }: InclusionClaim): boolean {
  if (!isCount(index) || !isCount(size) || index >= size) return false
  const sides = siblingSides(index, size - 1)
  if (!isHash(leafHash) || !proof.every(isHash) || proof.length !== sides.length) return false
  const computed = proof.reduce(
    (hash, sibling, step) => (sides[step] === "left" ? hashNode(sibling, hash) : hashNode(hash, sibling)),
    leafHash,
  )
  return equalBytes(computed, root)
}

/** RFC 9162 §2.1.4.2, for `size1` ≥ 1: nothing can be proved of the empty tree. False for anything malformed; never throws. */
export function verifyConsistency({ size1, size2, root1, root2, proof }: ConsistencyClaim): boolean {
  if (!isCount(size1) || !isCount(size2) || size1 === 0 || size1 > size2) return false
  if (size1 === size2) return proof.length === 0 && equalBytes(root1, root2)
  // A complete first tree is itself the node the path starts from, and left out of the proof.
  const [start, ...siblings] = isPowerOfTwo(size1) ? [root1, ...proof] : proof
  const skipped = trailingZeros(size1)
  const sides = siblingSides(shift(size1 - 1, skipped), shift(size2 - 1, skipped))
  if (start === undefined || !proof.every(isHash) || siblings.length !== sides.length) return false
  let first = start
  let second = start
  for (const [step, sibling] of siblings.entries()) {
    if (sides[step] === "left") first = hashNode(sibling, first)
    second = sides[step] === "left" ? hashNode(sibling, second) : hashNode(second, sibling)
  }
  return equalBytes(first, root1) && equalBytes(second, root2)
}

/**
 * The nodes of the inclusion proof of leaf `index` in a tree of `size` leaves, nearest sibling first (PATH of RFC 6962
 * §2.1.1). Throws RangeError unless 0 ≤ index < size ≤ 2^53−1.
 */
export function inclusionPath(index: number, size: number): ProofPlan {
  if (!isCount(index) || !isCount(size) || index >= size) {
    throw new RangeError(`Leaf ${index} is not in a tree of ${size} leaves.`)
  }
  const plan: (readonly NodeId[])[] = []
  let start = 0
  let end = size
  while (end - start > 1) {
    const middle = start + largestPowerBelow(end - start)
    const inLeft = index < middle
    plan.push(inLeft ? completeSubtrees(middle, end) : completeSubtrees(start, middle))
    if (inLeft) end = middle
    else start = middle
  }
  return plan.reverse()
}

/**
 * The nodes of the consistency proof from `size1` to `size2` leaves (PROOF and SUBPROOF of RFC 6962 §2.1.2). Throws
 * RangeError unless 1 ≤ size1 ≤ size2 ≤ 2^53−1.
 */
export function consistencyPath(size1: number, size2: number): ProofPlan {
  if (!isCount(size1) || !isCount(size2) || size1 === 0 || size1 > size2) {
    throw new RangeError(`There is no consistency proof from ${size1} to ${size2} leaves.`)
  }
  const plan: (readonly NodeId[])[] = []
  let start = 0
  let end = size2
  while (end !== size1) {
    const middle = start + largestPowerBelow(end - start)
    const inLeft = size1 <= middle
    plan.push(inLeft ? completeSubtrees(middle, end) : completeSubtrees(start, middle))
    if (inLeft) end = middle
    else start = middle
  }
  // With start = 0 what remains is the whole first tree, whose root the verifier already has.
  if (start > 0) plan.push(completeSubtrees(start, end))
  return plan.reverse()
}

/** The proof a plan describes, given the hash of each node it names. */
export function assembleProof(plan: ProofPlan, hashOf: (node: NodeId) => Uint8Array): readonly Uint8Array[] {
  return plan.map(nodes => foldRight(nodes.map(hashOf)))
}

/**
 * The fewest complete subtrees that together cover the leaves `start` up to, not including, `end`, left to right; for
 * start = 0 they are the frontier of a tree of `end` leaves.
 */
export function completeSubtrees(start: number, end: number): readonly NodeId[] {
  const nodes: NodeId[] = []
  for (let at = start; at < end; ) {
    let level = 0
    let width = 1
    while (at % (2 * width) === 0 && at + 2 * width <= end) {
      level++
      width *= 2
    }
    nodes.push({ level, index: at / width })
    at += width
  }
  return nodes
}

/** The root over neighbouring complete subtrees of falling size, left to right; the empty root over none. */
export function foldRight(hashes: readonly Uint8Array[]): Uint8Array {
  return hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => hashNode(left, right))
}

/**
 * On which side the sibling of each node is, on the way up from node `position` of a level whose last node is `last`: fn and sn of
 * RFC 9162 §2.1.3.2, with its shifts.
 */
function siblingSides(position: number, last: number): readonly ("left" | "right")[] {
  const sides: ("left" | "right")[] = []
  for (let at = position, end = last; end > 0; ) {
    const left = isOdd(at) || at === end
    sides.push(left ? "left" : "right")
    // A last node without sibling rises unchanged until it is a right child.
    const levels = (left ? trailingZeros(at) : 0) + 1
    at = shift(at, levels)
    end = shift(end, levels)
  }
  return sides
}

function isHash(value: Uint8Array): boolean {
  return value.length === HASH_BYTES
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function isOdd(value: number): boolean {
  return value % 2 === 1
}

/** How often 2 divides `value`; 0 for 0. */
function trailingZeros(value: number): number {
  let zeros = 0
  for (let rest = value; rest > 0 && !isOdd(rest); rest /= 2) zeros++
  return zeros
}

function shift(value: number, bits: number): number {
  return Math.floor(value / 2 ** bits)
}

function isPowerOfTwo(size: number): boolean {
  return size === 2 ** trailingZeros(size)
}

/** The largest power of two strictly below `size` ≥ 2: where RFC 6962 §2.1 splits a tree. */
function largestPowerBelow(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}
