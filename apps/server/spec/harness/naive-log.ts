/** RFC 6962 §2.1 and C2SP tlog-tiles word for word: what the server's log is compared with. */
import { H, k, leafHash, mth, proof } from "../../../../libs/log/test/reference-tree.ts"

export const naiveLeaf = (entry: Uint8Array): Buffer => Buffer.from(leafHash(entry))

/** MTH over leaf hashes. */
export const naiveRoot = (leaves: readonly Uint8Array[]): Buffer => Buffer.from(mth(leaves))

/** PROOF(m, D[n]) of RFC 6962 §2.1.2. */
export const naiveConsistency = (first: number, leaves: readonly Uint8Array[]): readonly Buffer[] =>
  proof(first, leaves).map(hash => Buffer.from(hash))

/** RFC 6962 §2.1.1 turned round: the root a leaf and its path lead to. */
export function rootFromPath(
  index: number,
  size: number,
  leaf: Uint8Array,
  path: readonly Uint8Array[],
): Buffer | undefined {
  if (size === 1) return path.length === 0 ? Buffer.from(leaf) : undefined
  const last = path.at(-1)
  if (last === undefined) return undefined
  const split = k(size)
  const left = index < split
  const below = left
    ? rootFromPath(index, split, leaf, path.slice(0, -1))
    : rootFromPath(index - split, size - split, leaf, path.slice(0, -1))
  if (below === undefined) return undefined
  return Buffer.from(left ? H(1, below, last) : H(1, last, below))
}

const TILE = 256

/** Every tile of the tree: path below `/log/` and its bytes. */
export function naiveTiles(leaves: readonly Uint8Array[]): ReadonlyMap<string, Buffer> {
  const tiles = new Map<string, Buffer>()
  let row: readonly Uint8Array[] = leaves
  for (let level = 0; row.length > 0; level++) {
    for (let start = 0; start < row.length; start += TILE) {
      const hashes = row.slice(start, start + TILE)
      tiles.set(naivePath(`${level}`, start / TILE, hashes.length), Buffer.concat(hashes))
    }
    const full = Math.floor(row.length / TILE)
    const below = row
    row = Array.from({ length: full }, (_, i) => naiveRoot(below.slice(i * TILE, (i + 1) * TILE)))
  }
  return tiles
}

/** Every entry bundle of the log: path below `/log/` and its bytes, each entry after its length in two bytes. */
export function naiveEntryBundles(entries: readonly Uint8Array[]): ReadonlyMap<string, Buffer> {
  const bundles = new Map<string, Buffer>()
  for (let start = 0; start < entries.length; start += TILE) {
    const slice = entries.slice(start, start + TILE)
    const parts = slice.flatMap(entry => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(entry.length)
      return [length, Buffer.from(entry)]
    })
    bundles.set(naivePath("entries", start / TILE, slice.length), Buffer.concat(parts))
  }
  return bundles
}

/** Three digits at a time, all but the last group after an x; a partial tile says its width. */
function naivePath(row: string, index: number, width: number): string {
  const digits = `${index}`
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, "0")
  const groups = padded.match(/.{3}/g) ?? []
  const name = groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join("/")
  return `tile/${row}/${name}${width === TILE ? "" : `.p/${width}`}`
}
