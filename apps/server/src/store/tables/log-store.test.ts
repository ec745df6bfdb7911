import { encodeHex, sha256, utf8Encode } from "@runseal/canonical"
import { appendLeaf, emptyRange, rootOf } from "@runseal/log/merkle/compact-range"
import { hashLeaf, verifyConsistency, verifyInclusion } from "@runseal/log/merkle/rfc6962"
import { buildConsistencyProof, buildInclusionProof, type ReadTile, rootFromTiles } from "@runseal/log/merkle/tiles"
import { beforeAll, describe, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import { growLog } from "../../keys/embedded-log.ts"
import type { Database } from "../driver/database.ts"
import { appendEntries, loadFrontier, lockHead, readEntries, readHead, readTile } from "./log-store.ts"

const bodyOf = (index: number): string => `{"apiVersion":"0.0.1","entry":${index},"text":"é"}`

/** Appends bodies in batches as the sealer does: every batch starts from what the store says once it holds the head. */
async function grow(db: Database, size: number, batch: number): Promise<void> {
  const appendBatch = (): Promise<number> =>
    db.transaction(async tx => {
      const head = await lockHead(tx)
      const builder = growLog(await loadFrontier(tx, head))
      const integrated_time = 1_700_000_000 + head.size
      const entries = Array.from({ length: Math.min(batch, size - head.size) }, (_, at) => {
        const body = bodyOf(head.size + at)
        return { log_index: builder.append(utf8Encode(body)), body, integrated_time }
      })
      const next = { ...head, size: builder.size(), root: builder.root(), log_time: integrated_time }
      const checkpoint = `head ${builder.size()}`
      await appendEntries(tx, { entries, tiles: builder.tiles(), head: { ...next, checkpoint } })
      return builder.size()
    })
  while ((await appendBatch()) < size);
}

function plainRoot(size: number): string {
  let range = emptyRange
  for (let index = 0; index < size; index++) range = appendLeaf(range, hashLeaf(utf8Encode(bodyOf(index)))).range
  return encodeHex(rootOf(range))
}

bothDatabases("the log", open => {
  describe("before its first entry", () => {
    let db: Database
    beforeAll(async () => {
      db = await open()
    })

    test("has size 0, the root of nothing, and gives the first run number 1", async () => {
      const head = await readHead(db)
      expect({ ...head, root: encodeHex(head.root) }).toEqual({
        size: 0,
        root: encodeHex(sha256("")),
        log_time: 0,
        next_run_id: 1,
        checkpoint: "",
        epoch: 0,
        clock_event: 0,
      })
    })

    test("has an empty frontier", async () => {
      expect(await loadFrontier(db, { size: 0 })).toEqual({ range: emptyRange, edges: [] })
    })
  })

  describe("of 700 entries", () => {
    let db: Database
    const size = 700
    const read: ReadTile = (level, index, width) => readTile(db, level, index, width)
    beforeAll(async () => {
      db = await open()
      await grow(db, size, 111)
    })

    test("has the head of its last batch", async () => {
      const head = await readHead(db)
      expect([head.size, encodeHex(head.root), head.checkpoint]).toEqual([size, plainRoot(size), "head 700"])
    })

    test("keeps every entry byte for byte, in order", async () => {
      const entries = await readEntries(db, 250, 506)
      expect(entries.map(entry => entry.log_index)).toEqual(Array.from({ length: 256 }, (_, at) => 250 + at))
      expect(entries.every(entry => entry.body === bodyOf(entry.log_index))).toBe(true)
      expect(await readEntries(db, 699, 900)).toHaveLength(1)
      await expect(readEntries(db, 0, 257)).rejects.toThrow(RangeError)
    })

    test("stores full tiles only", async () => {
      const tiles = await db.sql`select level, tile_index from log_tile order by level, tile_index`
      expect([...tiles]).toEqual([
        { level: 0, tile_index: 0 },
        { level: 0, tile_index: 1 },
      ])
    })

    test("gives every root it ever had from its tiles", async () => {
      for (const past of [1, 2, 255, 256, 257, 511, 512, 513, 699, 700]) {
        expect(encodeHex(await rootFromTiles(past, read))).toBe(plainRoot(past))
      }
    })

    test("gives a partial tile that begins as the full one does", async () => {
      const full = await readTile(db, 0, 1, 256)
      expect(full).toHaveLength(8192)
      expect(encodeHex(await readTile(db, 0, 1, 9))).toBe(encodeHex(full.subarray(0, 9 * 32)))
      expect(await readTile(db, 1, 0, 2)).toHaveLength(64)
    })

    test("refuses a tile it has not grown to", async () => {
      await expect(readTile(db, 0, 2, 189)).rejects.toMatchObject({ code: "corrupt" })
      await expect(readTile(db, 0, 2, 256)).rejects.toMatchObject({ code: "corrupt" })
      await expect(readTile(db, 1, 0, 3)).rejects.toMatchObject({ code: "corrupt" })
    })

    test("proves any entry's inclusion and any size's consistency", async () => {
      const { root } = await readHead(db)
      for (const index of [0, 255, 256, 600, 699]) {
        const proof = await buildInclusionProof(index, size, read)
        const leafHash = hashLeaf(utf8Encode(bodyOf(index)))
        expect(verifyInclusion({ leafHash, index, size, proof, root })).toBe(true)
      }
      const proof = await buildConsistencyProof(300, size, read)
      const root1 = await rootFromTiles(300, read)
      expect(verifyConsistency({ size1: 300, size2: size, root1, root2: root, proof })).toBe(true)
    })

    test("gives the frontier from which a builder goes on", async () => {
      const frontier = await loadFrontier(db, { size })
      expect(encodeHex(rootOf(frontier.range))).toBe(plainRoot(size))
      expect(frontier.edges.map(edge => edge.length)).toEqual([700 - 512, 2])
    })

    test("does not move from another place than its head", async () => {
      const head = await readHead(db)
      const stale = db.transaction(tx => appendEntries(tx, { entries: [], tiles: [], head: { ...head, size: 699 } }))
      await expect(stale).rejects.toMatchObject({ code: "conflict" })
    })

    test("never takes its time, its run numbers or its epoch back", async () => {
      const head = await readHead(db)
      for (const back of [{ log_time: head.log_time - 1 }, { next_run_id: 0 }, { epoch: -1 }]) {
        const moved = db.transaction(tx => appendEntries(tx, { entries: [], tiles: [], head: { ...head, ...back } }))
        await expect(moved).rejects.toMatchObject({ code: "conflict" })
      }
      expect(await readHead(db)).toEqual(head)
    })

    test("takes no entries that leave a gap", async () => {
      const head = await readHead(db)
      const entries = [{ log_index: 701, body: "{}", integrated_time: head.log_time }]
      const gap = db.transaction(tx => appendEntries(tx, { entries, tiles: [], head: { ...head, size: 701 } }))
      await expect(gap).rejects.toThrow()
      expect((await readHead(db)).size).toBe(size)
    })
  })

  test("batches that are built at the same time follow each other: the head is locked", async () => {
    const db = await open()
    await Promise.all([grow(db, 40, 3), grow(db, 40, 5), grow(db, 40, 7)])
    const head = await readHead(db)
    expect([head.size, encodeHex(head.root)]).toEqual([40, plainRoot(40)])
  })

  test("a log of 65,793 entries has three levels and the frontier reads no more than one edge each", async () => {
    const db = await open()
    await grow(db, 65_793, 512)
    const frontier = await loadFrontier(db, { size: 65_793 })
    expect(frontier.edges.map(edge => edge.length)).toEqual([1, 1, 1])
    expect(encodeHex(rootOf(frontier.range))).toBe(plainRoot(65_793))
  })
})
