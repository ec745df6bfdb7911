/** RFC 6962 §2.1 and C2SP tlog-tiles word for word, on Node's own hash: what the server's log is compared with. */
import { createHash } from "node:crypto"

const hash = (...parts: readonly Uint8Array[]): Buffer => {
  const digest = createHash("sha256")
  for (const part of parts) digest.update(part)
  return digest.digest()
}

const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

export const naiveLeaf = (entry: Uint8Array): Buffer => hash(LEAF, entry)

/** MTH over leaf hashes: the left part is the largest power of two smaller than the number of leaves. */
export function naiveRoot(leaves: readonly Uint8Array[]): Buffer {
  const [first] = leaves
  if (first === undefined) return hash()
  if (leaves.length === 1) return Buffer.from(first)
  const split = largestPowerBelow(leaves.length)
  return hash(NODE, naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split)))
}

function largestPowerBelow(count: number): number {
  let power = 1
  while (power * 2 < count) power *= 2
  return power
}

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
  const split = largestPowerBelow(size)
  const left = index < split
  const below = left
    ? rootFromPath(index, split, leaf, path.slice(0, -1))
    : rootFromPath(index - split, size - split, leaf, path.slice(0, -1))
  if (below === undefined) return undefined
  return left ? hash(NODE, below, last) : hash(NODE, last, below)
}

/** PROOF(m, D[n]) of RFC 6962 §2.1.2. */
export function naiveConsistency(first: number, leaves: readonly Uint8Array[]): readonly Buffer[] {
  return subproof(first, leaves, true)
}

function subproof(first: number, leaves: readonly Uint8Array[], known: boolean): readonly Buffer[] {
  if (first === leaves.length) return known ? [] : [naiveRoot(leaves)]
  const split = largestPowerBelow(leaves.length)
  return first <= split
    ? [...subproof(first, leaves.slice(0, split), known), naiveRoot(leaves.slice(split))]
    : [...subproof(first - split, leaves.slice(split), false), naiveRoot(leaves.slice(0, split))]
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
