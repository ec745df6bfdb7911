import { concatBytes } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { leavesOf, mth, path, proof, sparseTree } from "../../test/reference-tree.ts"
import { appendLeaf, type CompactRange, emptyRange, rangeFromHashes, rootOf } from "./compact-range.ts"
import { assembleProof, completeSubtrees, consistencyPath, inclusionPath, type TreeNode } from "./rfc6962.ts"
import {
  buildConsistencyProof,
  buildInclusionProof,
  frontierFromTiles,
  MAX_TILE_LEVEL,
  nodeFromTile,
  parseTilePath,
  type ReadTile,
  rootFromTiles,
  TILE_WIDTH,
  tileOfNode,
  tilePath,
  tileWidth,
} from "./tiles.ts"

const SIZE = 1100
const leaves = leavesOf(SIZE)

/** Tiles as a log writes them: every node on a tile row goes to its place. */
function growTiles(): { readonly range: CompactRange; readonly rows: ReadonlyMap<string, Uint8Array[]> } {
  let range = emptyRange
  const rows = new Map<string, Uint8Array[]>()
  const store = (node: TreeNode): void => {
    const { level, index, first, count } = tileOfNode(node)
    if (count > 1) return
    const tile = rows.get(`${level}/${index}`) ?? []
    tile[first] = node.hash
    rows.set(`${level}/${index}`, tile)
  }
  for (const leaf of leaves) {
    const appended = appendLeaf(range, leaf)
    range = appended.range
    appended.nodes.forEach(store)
  }
  return { range, rows }
}
const { range, rows } = growTiles()
const readTile: ReadTile = async (level, index, width) =>
  concatBytes(...(rows.get(`${level}/${index}`) ?? []).slice(0, width))

function sparseTiles(marked: number): ReadTile {
  const { nodeHash } = sparseTree(marked)
  return async (level, index, width) => {
    const hashes = Array.from({ length: width }, (_, at) => ({ level: level * 8, index: index * TILE_WIDTH + at }))
    return concatBytes(...hashes.map(nodeHash))
  }
}

describe("proofs from tiles", () => {
  test("of inclusion equal the reference's", async () => {
    for (const [index, size] of [
      [0, 1],
      [0, 256],
      [255, 256],
      [255, 257],
      [256, 257],
      [511, 700],
      [3, 1100],
      [1099, 1100],
    ] as const) {
      expect(await buildInclusionProof(index, size, readTile)).toEqual(path(index, leaves.slice(0, size)))
    }
  })

  test("of consistency equal the reference's", async () => {
    for (const [size1, size2] of [
      [1, 1],
      [1, 1100],
      [255, 256],
      [256, 512],
      [257, 512],
      [300, 1099],
      [1024, 1100],
    ] as const) {
      expect(await buildConsistencyProof(size1, size2, readTile)).toEqual(proof(size1, leaves.slice(0, size2)))
    }
  })

  test("equal those from nodes in trees of any size", async () => {
    const size = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
    await fc.assert(
      fc.asyncProperty(size, size, async (a, b) => {
        const [small, large] = a < b ? [a, b] : [b, a]
        const index = small - 1
        const { nodeHash } = sparseTree(index)
        const tiles = sparseTiles(index)
        expect(await buildInclusionProof(index, large, tiles)).toEqual(
          assembleProof(inclusionPath(index, large), nodeHash),
        )
        expect(await buildConsistencyProof(small, large, tiles)).toEqual(
          assembleProof(consistencyPath(small, large), nodeHash),
        )
      }),
      { numRuns: 5 },
    )
  })

  test("read each tile once, at its width in the tree", async () => {
    const read: string[] = []
    await buildInclusionProof(300, 700, async (level, index, width) => {
      read.push(tilePath({ level, index, width }))
      return readTile(level, index, width)
    })
    expect(read.sort()).toEqual(["tile/0/001", "tile/0/002.p/188", "tile/1/000.p/2"])
  })

  test("are refused for leaves and sizes the tree does not have", async () => {
    await expect(buildInclusionProof(5, 5, readTile)).rejects.toThrow(RangeError)
    await expect(buildConsistencyProof(0, 5, readTile)).rejects.toThrow(RangeError)
  })

  test("are refused when a tile is shorter or longer than asked for", async () => {
    const short: ReadTile = async (level, index, width) => readTile(level, index, width - 1)
    await expect(buildInclusionProof(0, 2, short)).rejects.toThrow("tile/0/000.p/2 holds 32 bytes, not 64.")
    const long: ReadTile = async (level, index) => readTile(level, index, TILE_WIDTH)
    await expect(buildInclusionProof(0, 2, long)).rejects.toThrow(RangeError)
  })
})

describe("a tree read from its tiles", () => {
  test("has the root of its leaves, at every size", async () => {
    for (const size of [0, 1, 2, 255, 256, 257, 512, 700, 1024, 1100]) {
      expect(await rootFromTiles(size, readTile)).toEqual(mth(leaves.slice(0, size)))
    }
  })

  test("gives the range a log goes on from", async () => {
    const restored = rangeFromHashes(SIZE, await frontierFromTiles(SIZE, readTile))
    expect(restored).toEqual(range)
    expect(rootOf(restored)).toEqual(mth(leaves))
  })

  test("gives no node beyond the bytes at hand", async () => {
    expect(() => nodeFromTile({ level: 1, index: 0 }, leaves[0]!)).toThrow(RangeError)
    expect(nodeFromTile({ level: 0, index: 0 }, leaves[0]!)).toEqual(leaves[0])
  })
})

describe("a tile's place", () => {
  test("of 70,000 leaves: the example of tlog-tiles", () => {
    expect(tileWidth(0, 272, 70_000)).toBe(256)
    expect(tileWidth(0, 273, 70_000)).toBe(112)
    expect(tileWidth(0, 274, 70_000)).toBe(0)
    expect(tileWidth(1, 0, 70_000)).toBe(256)
    expect(tileWidth(1, 1, 70_000)).toBe(17)
    expect(tileWidth(2, 0, 70_000)).toBe(1)
    expect(tileWidth(3, 0, 70_000)).toBe(0)
  })

  test("of 256 leaves: one full tile, and one hash in the row above", () => {
    expect(tileWidth(0, 0, 256)).toBe(256)
    expect(tileWidth(1, 0, 256)).toBe(1)
  })

  test("holds every complete subtree of the tree", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), size => {
        for (const node of completeSubtrees(0, size)) {
          const { level, index, first, count } = tileOfNode(node)
          expect(level).toBeLessThanOrEqual(MAX_TILE_LEVEL)
          expect(first + count).toBeLessThanOrEqual(tileWidth(level, index, size))
        }
      }),
    )
  })
})

describe("a tile's path", () => {
  test.each([
    ["tile/0/000", { level: 0, index: 0, width: 256 }],
    ["tile/0/x001/x234/067", { level: 0, index: 1_234_067, width: 256 }],
    ["tile/1/001.p/17", { level: 1, index: 1, width: 17 }],
    ["tile/0/x001/067.p/112", { level: 0, index: 1067, width: 112 }],
    ["tile/entries/x999/999.p/1", { level: "entries" as const, index: 999_999, width: 1 }],
    ["tile/6/000.p/31", { level: 6, index: 0, width: 31 }],
  ])("%s", (text, tile) => {
    expect(tilePath(tile)).toBe(text)
    expect(parseTilePath(text)).toEqual(tile)
  })

  test.each([
    "tile/0/0",
    "tile/0/00",
    "tile/0/0000",
    "tile/0/1000",
    "tile/0/x000/001",
    "tile/0/001/067",
    "tile/0/x001",
    "tile/0/x001/x067",
    "tile/00/000",
    "tile/7/000",
    "tile/63/000",
    "tile/-1/000",
    "tile/Entries/000",
    "tile/0/000.p/0",
    "tile/0/000.p/256",
    "tile/0/000.p/01",
    "tile/0/000.p/",
    "tile/0/000/",
    "/tile/0/000",
    "tile/0/000\n",
    "tile/0/../000",
    "tile/6/000.p/32",
    "tile/6/001.p/1",
    "tile/0/x999/x999/x999/x999/x999/999",
    "",
  ])("%j is none", text => {
    expect(parseTilePath(text)).toBeUndefined()
  })

  test("reads back for every tile of every tree", () => {
    const level = fc.oneof(fc.integer({ min: 0, max: MAX_TILE_LEVEL }), fc.constant("entries" as const))
    fc.assert(
      fc.property(level, fc.maxSafeInteger(), (row, size) => {
        const last = Math.floor(Math.abs(size) / TILE_WIDTH ** (row === "entries" ? 0 : row)) - 1
        fc.pre(last >= 0)
        const tile = { level: row, index: Math.floor(last / TILE_WIDTH), width: (last % TILE_WIDTH) + 1 }
        expect(parseTilePath(tilePath(tile))).toEqual(tile)
      }),
    )
  })

  test("never makes the reader throw, and has one spelling", () => {
    const piece = fc.constantFrom("tile/", "0", "6", "entries", "/", "x", "001", "067", ".p/", "1", "255", "é")
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
        const text = pieces.join("")
        const tile = parseTilePath(text)
        expect(tile === undefined || tilePath(tile) === text).toBe(true)
      }),
    )
  })
})
