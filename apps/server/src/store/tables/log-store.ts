/**
 * The log's entries, tiles and head. Written only in the transaction that commits a batch; what is read here is public.
 * Nodes of the tree that never change are cached.
 * C2SP tlog-tiles: full tiles are stored and never change, partial ones are made from what lies below them.
 *
 * The statements are hand-written: every batch and every proof runs them, and the query builder costs each 70 µs more.
 */
import assert from "node:assert/strict"
import { concatBytes, utf8Encode } from "@runseal/canonical"
import { type CompactRange, rangeFromHashes } from "@runseal/log/merkle/compact-range"
import { HASH_BYTES, hashLeaf, hashNode, type NodeId } from "@runseal/log/merkle/rfc6962"
import {
  frontierFromTiles,
  nodeFromTile,
  type ReadTile,
  TILE_HEIGHT,
  TILE_WIDTH,
  tileOfNode,
  tileWidth,
} from "@runseal/log/merkle/tiles"
import { sql as fragment } from "drizzle-orm"
import { check, pgTable, primaryKey, text } from "drizzle-orm/pg-core"
import { insertRows, type Session, type Source, sentTogether, type Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { bytea, number, onlyRow, type RowOf } from "./column-types.ts"

/** The head of the log. Every append locks this row, so that two processes never fork the log. */
export const log_head = pgTable(
  "log_head",
  {
    only: onlyRow(),
    /** Entries in the log. */
    size: number(),
    /** RFC 6962 root over them, 32 bytes. */
    root: bytea().notNull(),
    /** Unix seconds of the last entries; never decreases. */
    log_time: number(),
    /** The number the next run gets; run numbers start at 1. */
    next_run_id: number(),
    /** The published C2SP checkpoint of this head, a signed note; "" before the genesis entry. */
    checkpoint: text().notNull(),
    /** Raised when keys change or are revoked: who started before appends nothing any more. */
    epoch: number(),
    /** Ordinal of the admin event `clock.confirm` by which the log's clock goes on; 0 before the first. */
    clock_event: number().default(0),
  },
  table => [check("log_head_one_row", fragment`${table.only}`)],
)

export const log_entry = pgTable("log_entry", {
  /** 0, 1, 2 … without a gap. */
  log_index: number().primaryKey(),
  /** The canonicalized entry body: what the Merkle leaf hashes. */
  body: text().notNull(),
  /** Unix seconds. */
  integrated_time: number(),
})

/** Full tiles of C2SP tlog-tiles. */
export const log_tile = pgTable(
  "log_tile",
  {
    level: number(),
    tile_index: number(),
    /** 256 hashes, 8,192 bytes. */
    hashes: bytea().notNull(),
    /** The node above them, 32 bytes: a partial tile of the next level is made of these. */
    root: bytea().notNull(),
  },
  table => [
    primaryKey({ columns: [table.level, table.tile_index] }),
    check("log_tile_full", fragment`octet_length(${table.hashes}) = 8192`),
  ],
)

export type LogHeadRow = RowOf<typeof log_head>
export type LogEntryRow = RowOf<typeof log_entry>
export type LogTileRow = RowOf<typeof log_tile>

/** A full tile as the log's builder makes it. */
type FullTile = Omit<LogTileRow, "root">

/** What a batch adds, and the head it makes. */
type LogAppend = {
  readonly entries: readonly LogEntryRow[]
  readonly tiles: readonly FullTile[]
  readonly head: LogHeadRow
}

/** All that must be known to grow the log. */
type StoredFrontier = {
  readonly range: CompactRange
  /** For each tile level the hashes since its last full tile, at most 255. */
  readonly edges: readonly (readonly Uint8Array[])[]
}

/** The head, locked until the transaction ends. */
export async function lockHead({ sql }: Tx): Promise<LogHeadRow> {
  return theRow(
    await sql<LogHeadRow[]>`
      select size, root, log_time, next_run_id, checkpoint, epoch, clock_event from log_head for update`,
  )
}

/** The key of an advisory lock: "rsbu" in ASCII, read as a number. */
const BUILDING_LOCK = 0x72736275

/** Locks the building of batches against other servers until the transaction ends; of a transaction, so that poolers can be in between. */
export async function lockBuilding({ sql }: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${BUILDING_LOCK}::bigint)`
}

/** The head as last committed. */
export function readHead(source: Source): Promise<LogHeadRow> {
  return source.read(async ({ sql }) =>
    theRow(
      await sql<LogHeadRow[]>`
        select size, root, log_time, next_run_id, checkpoint, epoch, clock_event from log_head`,
    ),
  )
}

/** Whether the database takes writes: a standby, and a database in read-only mode, answer reads all the same. */
export function takesWrites(source: Source): Promise<boolean> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<{ writable: boolean }[]>`
      select current_setting('transaction_read_only') = 'off' as writable`
    return row?.writable === true
  })
}

function theRow<T>([row]: readonly T[]): T {
  if (row === undefined) throw new StoreError("corrupt")
  return row
}

/**
 * Appends entries and moves the head that this transaction has locked. Neither log time nor run numbers go back.
 * @throws StoreError "conflict" when the log is not where the entries begin; AssertionError when they do not follow each other
 */
export async function appendEntries(tx: Tx, { entries, tiles, head }: LogAppend): Promise<void> {
  const size = head.size - entries.length
  assert.ok(entries.every(({ log_index }, at) => log_index === size + at))
  const moving = tx.sql`
    update log_head set size = ${head.size}, root = ${head.root}, log_time = ${head.log_time},
      next_run_id = ${head.next_run_id}, checkpoint = ${head.checkpoint}, epoch = ${head.epoch}
    where size = ${size} and epoch <= ${head.epoch} and log_time <= ${head.log_time}
      and next_run_id <= ${head.next_run_id}`
  const rows = tiles.map(tile => ({ ...tile, root: rootOfTile(tile) }))
  const [, , moved] = await sentTogether([insertRows(tx, log_entry, entries), insertRows(tx, log_tile, rows), moving])
  if (moved.count !== 1) throw new StoreError("conflict")
}

/** The node above a full tile. */
function rootOfTile({ level, tile_index, hashes }: FullTile): Uint8Array {
  const halves = { level: level * TILE_HEIGHT + TILE_HEIGHT - 1, index: 2 * tile_index }
  return hashNode(nodeFromTile(halves, hashes), nodeFromTile({ ...halves, index: halves.index + 1 }, hashes))
}

/**
 * The first `width` (1 … 256) hashes of a tile, as core's proofs read them.
 * @throws StoreError "corrupt" for a tile the log has not grown to: the head says which there are
 */
export const readTile = (source: Source, level: number, index: number, width: number): Promise<Uint8Array> =>
  readTileSlice(source, level, index, 0, width)

/**
 * The hashes of a tile from offset `first` up to, not including, `end` (at most 256). A whole tile is one row; part of one is
 * made of what lies below it.
 * @throws StoreError "corrupt" when the log has not grown to there
 */
export function readTileSlice(
  source: Source,
  level: number,
  index: number,
  first: number,
  end: number,
): Promise<Uint8Array> {
  return source.read(async session => {
    const count = end - first
    if (count === TILE_WIDTH) return storedTile(session, level, index)
    const from = index * TILE_WIDTH + first
    const hashes =
      level === 0 ? await leafHashes(session, from, count) : await tileRoots(session, level - 1, from, count)
    if (hashes.length !== count) throw new StoreError("corrupt")
    return concatBytes(...hashes)
  })
}

/** Entries `from` up to, not including, `to`; fewer when the log ends before. At most 256 at once. */
export async function readEntries(source: Source, from: number, to: number): Promise<readonly LogEntryRow[]> {
  if (to - from > TILE_WIDTH) throw new RangeError(`At most ${TILE_WIDTH} entries are read at once.`)
  return source.read(
    async ({ sql }) => sql<LogEntryRow[]>`
      select log_index, body, integrated_time from log_entry
      where log_index >= ${from} and log_index < ${to} order by log_index`,
  )
}

/** What the log of this head grows from; reads at most 255 hashes a level. */
export async function loadFrontier(source: Source, { size }: Pick<LogHeadRow, "size">): Promise<StoredFrontier> {
  const read: ReadTile = (level, index, width) => readTile(source, level, index, width)
  const range = rangeFromHashes(size, await frontierFromTiles(size, read))
  const edges: (readonly Uint8Array[])[] = []
  for (let level = 0, nodes = size; nodes > 0; level++, nodes = Math.floor(nodes / TILE_WIDTH)) {
    const width = nodes % TILE_WIDTH
    edges.push(width === 0 ? [] : split(await read(level, Math.floor(nodes / TILE_WIDTH), width)))
  }
  return { range, edges }
}

async function storedTile({ sql }: Session, level: number, index: number): Promise<Uint8Array> {
  const tiles = await sql<Pick<LogTileRow, "hashes">[]>`
    select hashes from log_tile where level = ${level} and tile_index = ${index}`
  return theRow(tiles).hashes
}

async function leafHashes(session: Session, first: number, count: number): Promise<readonly Uint8Array[]> {
  const entries = await readEntries(session, first, first + count)
  return entries.map(({ body }) => hashLeaf(utf8Encode(body)))
}

async function tileRoots(
  { sql }: Session,
  level: number,
  first: number,
  count: number,
): Promise<readonly Uint8Array[]> {
  const tiles = await sql<Pick<LogTileRow, "root">[]>`
    select root from log_tile
    where level = ${level} and tile_index >= ${first} and tile_index < ${first + count} order by tile_index`
  return tiles.map(({ root }) => root)
}

function split(tile: Uint8Array): readonly Uint8Array[] {
  return Array.from({ length: tile.length / HASH_BYTES }, (_, at) =>
    tile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )
}

// Hashes of the log's complete subtrees, of which every proof is made. Such a subtree never changes, so what was read or
// computed once is remembered, within a bound: the right edge of the tree and its upper levels are in every proof.

/** Some 200 bytes each: the upper levels of a log of 8 million entries, and what was asked for last. */
const MAX_REMEMBERED_NODES = 32_768

export type LogNodes = {
  /**
   * The hashes of nodes of a tree of `size` leaves, as a function that throws for any other node.
   * @throws StoreError "corrupt" when the log has not grown to one of them
   */
  readonly read: (source: Source, nodes: readonly NodeId[], size: number) => Promise<(node: NodeId) => Uint8Array>
}

/** Remembers what is read through it; only committed reads may go there. */
export function rememberNodes(limit: number = MAX_REMEMBERED_NODES): LogNodes {
  const remembered = new Map<string, Uint8Array>()
  const remember = (name: string, hash: Uint8Array): void => {
    remembered.delete(name)
    remembered.set(name, hash)
    for (const oldest of remembered.keys()) {
      if (remembered.size <= limit) return
      remembered.delete(oldest)
    }
  }
  return {
    read: async (source, nodes, size) => {
      const hashes = new Map<string, Uint8Array>()
      const missing: NodeId[] = []
      for (const node of nodes) {
        const hash = remembered.get(nameOf(node))
        if (hash === undefined) missing.push(node)
        else hashes.set(nameOf(node), hash)
      }
      await Promise.all(byTile(missing).map(async together => readTogether(source, together, size, hashes)))
      for (const [name, hash] of hashes) remember(name, hash)
      return node => {
        const hash = hashes.get(nameOf(node))
        if (hash === undefined) throw new Error(`node ${nameOf(node)} was not asked for`)
        return hash
      }
    },
  }
}

const nameOf = ({ level, index }: NodeId): string => `${level}/${index}`

/** Nodes whose hashes come from the same tile, together. */
function byTile(nodes: readonly NodeId[]): readonly (readonly NodeId[])[] {
  const tiles = new Map<string, NodeId[]>()
  for (const node of nodes) {
    const name = nameOf(tileOfNode(node))
    const together = tiles.get(name)
    if (together === undefined) tiles.set(name, [node])
    else together.push(node)
  }
  return [...tiles.values()]
}

/** Reads nodes of one tile: of a full one all of it, of one that is growing no more than reaches from the first to the last. */
async function readTogether(
  source: Source,
  nodes: readonly NodeId[],
  size: number,
  hashes: Map<string, Uint8Array>,
): Promise<void> {
  const slices = nodes.map(tileOfNode)
  const [tile] = slices
  if (tile === undefined) return
  const full = tileWidth(tile.level, tile.index, size) === TILE_WIDTH
  const first = full ? 0 : Math.min(...slices.map(slice => slice.first))
  const end = full ? TILE_WIDTH : Math.max(...slices.map(slice => slice.first + slice.count))
  const read = await readTileSlice(source, tile.level, tile.index, first, end)
  nodes.forEach((node, at) => {
    const { first: from, count } = slices[at] ?? tile
    const own = read.subarray((from - first) * HASH_BYTES, (from - first + count) * HASH_BYTES)
    // A copy: a view of a leaf's hash would keep the whole tile in memory.
    hashes.set(nameOf(node), new Uint8Array(nodeFromTile({ level: node.level % TILE_HEIGHT, index: 0 }, own)))
  })
}

/** The first `width` (1 … 256) hashes of a tile of a tree of `size` leaves. */
export async function readTileThrough(
  nodes: LogNodes,
  source: Source,
  { level, index, width }: { readonly level: number; readonly index: number; readonly width: number },
  size: number,
): Promise<Uint8Array> {
  if (width === TILE_WIDTH) return readTileSlice(source, level, index, 0, TILE_WIDTH)
  const leaves = Array.from(
    { length: width },
    (_, at): NodeId => ({
      level: level * TILE_HEIGHT,
      index: index * TILE_WIDTH + at,
    }),
  )
  return concatBytes(...leaves.map(await nodes.read(source, leaves, size)))
}
