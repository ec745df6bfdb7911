/** RFC 6962 §2.1: what two inclusion proofs show of one tree, or of two. */
import { utf8Encode } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { appendLeaf, type CompactRange, emptyRange, rootOf } from "../merkle/compact-range.ts"
import { assembleProof, hashLeaf, type InclusionClaim, inclusionPath } from "../merkle/rfc6962.ts"
import { areOfTwoTrees, NOTHING_SEEN, seenFurther, viewOf } from "./one-tree.ts"

/** A log of leaves, and the proof of any of them in any of its trees. */
function logOf(leaves: readonly string[]): (index: number, size: number) => InclusionClaim {
  const nodes = new Map<string, Uint8Array>()
  const roots: Uint8Array[] = []
  let range: CompactRange = emptyRange
  for (const leaf of leaves) {
    const grown = appendLeaf(range, hashLeaf(utf8Encode(leaf)))
    range = grown.range
    for (const { level, index, hash } of grown.nodes) nodes.set(`${level}/${index}`, hash)
    roots.push(rootOf(range))
  }
  return (index, size) => ({
    leafHash: hashLeaf(utf8Encode(leaves[index] ?? "")),
    index,
    size,
    proof: assembleProof(
      inclusionPath(index, size),
      node => nodes.get(`${node.level}/${node.index}`) ?? new Uint8Array(),
    ),
    root: roots[size - 1] ?? new Uint8Array(),
  })
}

const SIZE = 70
const leaves = Array.from({ length: SIZE }, (_, at) => `leaf ${at}`)
const place = fc
  .tuple(fc.nat(SIZE - 1), fc.nat(SIZE - 1))
  .map(([one, other]) => ({ index: Math.min(one, other), size: Math.max(one, other) + 1 }))

test("proofs of one log never contradict each other, whatever entries and trees they are of", () => {
  const claim = logOf(leaves)
  fc.assert(
    fc.property(fc.array(place, { maxLength: 8 }), places => {
      let seen = NOTHING_SEEN
      for (const { index, size } of places.sort((a, b) => a.index - b.index)) {
        const view = viewOf(claim(index, size))
        expect(areOfTwoTrees(seen, view)).toBe(false)
        seen = seenFurther(seen, view, index)
      }
      expect(seen.nodes.flat().length).toBeLessThanOrEqual(16)
    }),
    { numRuns: 300 },
  )
})

describe("a fork shows", () => {
  test("wherever the later entry follows the tree of the earlier one, whichever leaf was changed", () => {
    const claim = logOf(leaves)
    const changed = fc.tuple(fc.nat(SIZE - 3), fc.nat(SIZE - 3), fc.nat(SIZE - 3)).map(([index, leaf, more]) => ({
      index,
      size: Math.max(index, leaf) + 1,
      leaf,
      more,
    }))
    fc.assert(
      fc.property(changed, ({ index, size, leaf, more }) => {
        const other = logOf(leaves.with(leaf, "another leaf"))
        const later = other(size, Math.min(SIZE, size + 1 + more))
        expect(areOfTwoTrees(viewOf(claim(index, size)), viewOf(later))).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test("in two roots of one size, and in a leaf that is two", () => {
    const [one, other] = [logOf(leaves), logOf(leaves.with(9, "another leaf"))]
    expect(areOfTwoTrees(viewOf(one(0, 10)), viewOf(other(5, 10)))).toBe(true)
    expect(areOfTwoTrees(viewOf(one(9, 10)), viewOf(other(9, 70)))).toBe(true)
  })

  test("over entries in between, which carry what both sides meet", () => {
    const [one, other] = [logOf(leaves), logOf(leaves.with(0, "another leaf"))]
    let seen = NOTHING_SEEN
    for (const index of [1, 20, 40]) seen = seenFurther(seen, viewOf(one(index, index + 1)), index)
    expect(areOfTwoTrees(seen, viewOf(other(50, 51)))).toBe(true)
  })
})

test("a proof that does not hold shows nothing", () => {
  const claim = logOf(leaves)(3, 9)
  for (const broken of [
    { ...claim, index: -1 },
    { ...claim, index: 9 },
    { ...claim, size: 2 ** 53 },
    { ...claim, proof: claim.proof.slice(1) },
    { ...claim, root: new Uint8Array(32) },
  ])
    expect(viewOf(broken)).toEqual(NOTHING_SEEN)
})
