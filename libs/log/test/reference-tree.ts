import { concatBytes, sha256 } from "@runseal/canonical"
import type { NodeId } from "../src/merkle/rfc6962.ts"

/** RFC 6962 §2.1 word for word, recursive and slow: what the library is compared with. */

/** The largest power of two smaller than n; 1 for 1. */
export const k = (n: number): number => (n <= 2 ? 1 : 2 * k(Math.ceil(n / 2)))

/** SHA-256 over bytes and single bytes. */
export const H = (...parts: readonly (number | Uint8Array)[]): Uint8Array =>
  sha256(concatBytes(...parts.map(part => (typeof part === "number" ? Uint8Array.of(part) : part))))

export const leafHash = (entry: Uint8Array): Uint8Array => H(0x00, entry)

/** MTH over leaf hashes. */
export function mth(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return H()
  if (leaves.length === 1) return leaves[0]!
  const split = k(leaves.length)
  return H(0x01, mth(leaves.slice(0, split)), mth(leaves.slice(split)))
}

/** PATH(m, D[n]), RFC 6962 §2.1.1. */
export function path(m: number, leaves: readonly Uint8Array[]): readonly Uint8Array[] {
  const n = leaves.length
  if (n === 1) return []
  const split = k(n)
  return m < split
    ? [...path(m, leaves.slice(0, split)), mth(leaves.slice(split))]
    : [...path(m - split, leaves.slice(split)), mth(leaves.slice(0, split))]
}

/** PROOF(m, D[n]), RFC 6962 §2.1.2. */
export const proof = (m: number, leaves: readonly Uint8Array[]): readonly Uint8Array[] => subproof(m, leaves, true)

function subproof(m: number, leaves: readonly Uint8Array[], complete: boolean): readonly Uint8Array[] {
  const n = leaves.length
  if (m === n) return complete ? [] : [mth(leaves)]
  const split = k(n)
  return m <= split
    ? [...subproof(m, leaves.slice(0, split), complete), mth(leaves.slice(split))]
    : [...subproof(m - split, leaves.slice(split), false), mth(leaves.slice(0, split))]
}

export const leavesOf = (size: number): readonly Uint8Array[] =>
  Array.from({ length: size }, (_, index) => leafHash(new TextEncoder().encode(`entry ${index}`)))

/**
 * A tree too large to build: every leaf is the same, except the one at `marked`. Gives the hash of any complete subtree
 * and, by the recursion of RFC 6962 §2.1, of any range that starts at a multiple of its span.
 */
export function sparseTree(marked: number): {
  readonly markedLeaf: Uint8Array
  readonly nodeHash: (node: NodeId) => Uint8Array
  readonly rangeHash: (start: number, end: number) => Uint8Array
} {
  const plain = [leafHash(Uint8Array.of(0))]
  for (let level = 1; level <= 53; level++) plain.push(H(0x01, plain[level - 1]!, plain[level - 1]!))
  const markedLeaf = leafHash(Uint8Array.of(1))
  const nodeHash = ({ level, index }: NodeId): Uint8Array => {
    if (Math.floor(marked / 2 ** level) !== index) return plain[level]!
    if (level === 0) return markedLeaf
    const left = { level: level - 1, index: 2 * index }
    return H(0x01, nodeHash(left), nodeHash({ level: level - 1, index: left.index + 1 }))
  }
  const rangeHash = (start: number, end: number): Uint8Array => {
    const size = end - start
    const level = Math.log2(size)
    if (Number.isInteger(level) && 2 ** level === size) return nodeHash({ level, index: start / size })
    const split = start + k(size)
    return H(0x01, rangeHash(start, split), rangeHash(split, end))
  }
  return { markedLeaf, nodeHash, rangeHash }
}
