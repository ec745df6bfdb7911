import { equalBytes } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as reference from "../../test/reference-tree.ts"
import {
  assembleProof,
  completeSubtrees,
  consistencyPath,
  EMPTY_ROOT,
  foldRight,
  hashLeaf,
  hashNode,
  inclusionPath,
  type NodeId,
  verifyConsistency,
  verifyInclusion,
} from "./rfc6962.ts"

const MAX_SIZE = 70
const leaves = reference.leavesOf(MAX_SIZE)
const roots = Array.from({ length: MAX_SIZE + 1 }, (_, size) => reference.mth(leaves.slice(0, size)))
const hashOf = ({ level, index }: NodeId): Uint8Array =>
  reference.mth(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))

const size = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })

describe("hashes of RFC 6962 §2.1", () => {
  test("leaves, nodes and the empty tree are the reference's", () => {
    const entry = new TextEncoder().encode("entry 0")
    expect(hashLeaf(entry)).toEqual(leaves[0])
    expect(hashNode(leaves[0]!, leaves[1]!)).toEqual(roots[2])
    expect(EMPTY_ROOT).toEqual(roots[0])
  })

  test("a tree is the fold of its complete subtrees", () => {
    for (const [at, root] of roots.entries()) expect(foldRight(completeSubtrees(0, at).map(hashOf))).toEqual(root)
  })
})

describe("inclusion proofs", () => {
  test("equal the reference's and verify, for every leaf of every tree up to 70", () => {
    for (let total = 1; total <= MAX_SIZE; total++) {
      for (let index = 0; index < total; index++) {
        const proof = assembleProof(inclusionPath(index, total), hashOf)
        expect(proof).toEqual(reference.path(index, leaves.slice(0, total)))
        expect(verifyInclusion({ leafHash: leaves[index]!, index, size: total, proof, root: roots[total]! })).toBe(true)
      }
    }
  })

  test("verify for no other leaf, size or index of a tree up to 20", () => {
    for (let total = 1; total <= 20; total++) {
      for (let index = 0; index < total; index++) {
        const proof = reference.path(index, leaves.slice(0, total))
        for (let other = 0; other <= 20; other++) {
          const claim = { leafHash: leaves[index]!, index, size: total, proof, root: roots[total]! }
          if (other !== index) {
            expect(verifyInclusion({ ...claim, index: other })).toBe(false)
            expect(verifyInclusion({ ...claim, leafHash: leaves[other]! })).toBe(false)
          }
          if (other !== total) expect(verifyInclusion({ ...claim, root: roots[other]! })).toBe(false)
        }
      }
    }
  })

  test("work up to 2^53−1 leaves", () => {
    fc.assert(
      fc.property(size, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (total, part) => {
        const index = Math.min(Math.floor(part * total), total - 1)
        const tree = reference.sparseTree(index)
        const proof = assembleProof(inclusionPath(index, total), tree.nodeHash)
        const claim = { leafHash: tree.markedLeaf, index, size: total, proof, root: tree.rangeHash(0, total) }
        expect(verifyInclusion(claim)).toBe(true)
        const shifted = index === 0 ? Math.min(1, total) : index - 1
        expect(verifyInclusion({ ...claim, index: shifted })).toBe(false)
      }),
      { numRuns: 60 },
    )
  })

  test("of hostile input are false and never throw", () => {
    const number = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.constantFrom(0, 1, 2 ** 53, 2 ** 64, -1, 0.5),
    )
    const bytes = fc.oneof(hash, fc.uint8Array({ maxLength: 40 }))
    fc.assert(
      fc.property(
        number,
        number,
        fc.array(bytes, { maxLength: 70 }),
        bytes,
        bytes,
        (index, total, proof, root, leafHash) => {
          const verified = verifyInclusion({ leafHash, index, size: total, proof, root })
          expect(verified).toBe(
            total === 1 && index === 0 && proof.length === 0 && leafHash.length === 32 && equalBytes(root, leafHash),
          )
        },
      ),
    )
  })

  test("are planned only for leaves the tree has", () => {
    for (const [index, total] of [
      [0, 0],
      [1, 1],
      [-1, 1],
      [0.5, 1],
      [0, Number.NaN],
      [2 ** 53, 2 ** 53 + 2],
    ] as const) {
      expect(() => inclusionPath(index, total)).toThrow(RangeError)
    }
  })
})

describe("consistency proofs", () => {
  test("equal the reference's and verify, between all trees up to 70", () => {
    for (let size2 = 1; size2 <= MAX_SIZE; size2++) {
      for (let size1 = 1; size1 <= size2; size1++) {
        const proof = assembleProof(consistencyPath(size1, size2), hashOf)
        expect(proof).toEqual(reference.proof(size1, leaves.slice(0, size2)))
        expect(verifyConsistency({ size1, size2, root1: roots[size1]!, root2: roots[size2]!, proof })).toBe(true)
      }
    }
  })

  test("verify for no other pair of trees up to 20", () => {
    for (let size2 = 2; size2 <= 20; size2++) {
      for (let size1 = 1; size1 < size2; size1++) {
        const proof = reference.proof(size1, leaves.slice(0, size2))
        const claim = { size1, size2, root1: roots[size1]!, root2: roots[size2]!, proof }
        for (let other = 0; other <= 20; other++) {
          if (other !== size1) expect(verifyConsistency({ ...claim, size1: other, root1: roots[other]! })).toBe(false)
          if (other !== size1) expect(verifyConsistency({ ...claim, root1: roots[other]! })).toBe(false)
          if (other !== size2) expect(verifyConsistency({ ...claim, root2: roots[other]! })).toBe(false)
        }
      }
    }
  })

  test("between trees of one size are empty, and hold for one root alone", () => {
    const claim = { size1: 7, size2: 7, root1: roots[7]!, root2: roots[7]!, proof: [] }
    expect(verifyConsistency(claim)).toBe(true)
    expect(verifyConsistency({ ...claim, root2: roots[8]! })).toBe(false)
    expect(verifyConsistency({ ...claim, proof: [roots[7]!] })).toBe(false)
  })

  test("work up to 2^53−1 leaves", () => {
    fc.assert(
      fc.property(size, size, size, (a, b, marked) => {
        const [size1, size2] = a < b ? [a, b] : [b, a]
        const tree = reference.sparseTree(marked % size2)
        const proof = assembleProof(consistencyPath(size1, size2), tree.nodeHash)
        const claim = { size1, size2, root1: tree.rangeHash(0, size1), root2: tree.rangeHash(0, size2), proof }
        expect(verifyConsistency(claim)).toBe(true)
        if (size1 < size2) expect(verifyConsistency({ ...claim, root1: claim.root2 })).toBe(false)
      }),
      { numRuns: 60 },
    )
  })

  test("of hostile input are false and never throw", () => {
    const number = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.constantFrom(0, 1, 2, 2 ** 53, 2 ** 64, -1, 0.5),
    )
    const bytes = fc.oneof(hash, fc.uint8Array({ maxLength: 40 }))
    fc.assert(
      fc.property(
        number,
        number,
        bytes,
        bytes,
        fc.array(bytes, { maxLength: 70 }),
        (size1, size2, root1, root2, proof) => {
          const same = size1 === size2 && size1 >= 1 && Number.isSafeInteger(size1) && proof.length === 0
          expect(verifyConsistency({ size1, size2, root1, root2, proof })).toBe(same && equalBytes(root1, root2))
        },
      ),
    )
  })

  test("are planned only from a tree of one leaf or more to one no smaller", () => {
    for (const [size1, size2] of [
      [0, 1],
      [2, 1],
      [-1, 1],
      [1, 2 ** 53],
      [0.5, 1],
    ] as const) {
      expect(() => consistencyPath(size1, size2)).toThrow(RangeError)
    }
  })
})

test("a plan names complete subtrees of the tree only, and never more than 53 to a proof hash", () => {
  fc.assert(
    fc.property(size, size, (a, b) => {
      const [small, large] = a < b ? [a, b] : [b, a]
      const plans = [consistencyPath(small, large), inclusionPath(small - 1, large)]
      for (const nodes of plans.flat()) {
        expect(nodes.length).toBeLessThanOrEqual(53)
        for (const { level, index } of nodes) expect((index + 1) * 2 ** level).toBeLessThanOrEqual(large)
      }
    }),
  )
})
