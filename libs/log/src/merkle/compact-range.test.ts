import { describe, expect, test } from "vitest"
import { leavesOf, mth } from "../../test/reference-tree.ts"
import { appendLeaf, type CompactRange, emptyRange, rangeFromHashes, rootOf } from "./compact-range.ts"
import { completeSubtrees, EMPTY_ROOT, type TreeNode } from "./rfc6962.ts"

const MAX_SIZE = 130
const leaves = leavesOf(MAX_SIZE)

function grow(): { readonly ranges: readonly CompactRange[]; readonly nodes: readonly TreeNode[] } {
  const ranges = [emptyRange]
  const nodes: TreeNode[] = []
  for (const leaf of leaves) {
    const result = appendLeaf(ranges.at(-1)!, leaf)
    ranges.push(result.range)
    nodes.push(...result.nodes)
  }
  return { ranges, nodes }
}
const { ranges, nodes } = grow()

describe("a compact range", () => {
  test("without leaves has the empty root", () => {
    expect(rootOf(emptyRange)).toEqual(EMPTY_ROOT)
  })

  test("has the root of the whole tree after every leaf", () => {
    for (const [size, range] of ranges.entries()) {
      expect(range.size).toBe(size)
      expect(rootOf(range)).toEqual(mth(leaves.slice(0, size)))
    }
  })

  test("makes every complete subtree exactly once, each with its hash", () => {
    const made = new Map(nodes.map(({ level, index, hash }) => [`${level}/${index}`, hash]))
    expect(made.size).toBe(nodes.length)
    let expected = 0
    for (let level = 0; 2 ** level <= MAX_SIZE; level++) {
      const span = 2 ** level
      for (let index = 0; (index + 1) * span <= MAX_SIZE; index++, expected++) {
        expect(made.get(`${level}/${index}`)).toEqual(mth(leaves.slice(index * span, (index + 1) * span)))
      }
    }
    expect(nodes.length).toBe(expected)
  })

  test("is not changed by appending to it", () => {
    const before = ranges[7]!
    const hashes = [...before.hashes]
    expect(appendLeaf(before, leaves[9]!).range).not.toEqual(appendLeaf(before, leaves[8]!).range)
    expect(before).toEqual({ size: 7, hashes })
  })

  test("is restored from the hashes of its frontier", () => {
    const hashes = new Map(nodes.map(({ level, index, hash }) => [`${level}/${index}`, hash]))
    for (const range of ranges) {
      const stored = completeSubtrees(0, range.size).map(({ level, index }) => hashes.get(`${level}/${index}`)!)
      expect(rangeFromHashes(range.size, stored)).toEqual(range)
    }
  })

  test("is not restored from too few or too many hashes", () => {
    expect(() => rangeFromHashes(3, [leaves[0]!])).toThrow("A tree of 3 leaves has 2 frontier hashes, not 1.")
    expect(() => rangeFromHashes(0, [leaves[0]!])).toThrow(RangeError)
  })

  test("grows no further than 2^53−1 leaves", () => {
    const size = Number.MAX_SAFE_INTEGER
    const full = rangeFromHashes(
      size,
      completeSubtrees(0, size).map(() => leaves[0]!),
    )
    expect(() => appendLeaf(full, leaves[0]!)).toThrow("The tree is full.")
  })
})
