import { encodeHex, utf8Encode } from "@runseal/canonical"
import { assembleProof, consistencyPath, inclusionPath, type ProofPlan } from "@runseal/log/merkle/rfc6962"
import { buildConsistencyProof, buildInclusionProof } from "@runseal/log/merkle/tiles"
import { beforeAll, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import { growLog } from "../../keys/embedded-log.ts"
import type { Database } from "../driver/database.ts"
import type { Source } from "../driver/session.ts"
import { appendEntries, loadFrontier, lockHead, readTile, readTileThrough, rememberNodes } from "./log-store.ts"

const grow = (db: Database, count: number): Promise<void> =>
  db.transaction(async tx => {
    const head = await lockHead(tx)
    const builder = growLog(await loadFrontier(tx, head))
    const entries = Array.from({ length: count }, (_, at) => {
      const body = `{"entry":${head.size + at}}`
      return { log_index: builder.append(utf8Encode(body)), body, integrated_time: 1 }
    })
    const next = { ...head, size: builder.size(), root: builder.root(), log_time: 1, checkpoint: "head" }
    await appendEntries(tx, { entries, tiles: builder.tiles(), head: next })
  })

const hex = (hashes: readonly Uint8Array[]): readonly string[] => hashes.map(encodeHex)

bothDatabases("remembered nodes", open => {
  let db: Database
  let reads = 0
  /** The database, with its reads counted. */
  const counted: Source = {
    read: work => {
      reads++
      return db.read(work)
    },
  }
  const proofs = (nodes: ReturnType<typeof rememberNodes>) => async (plan: ProofPlan, size: number) =>
    hex(assembleProof(plan, await nodes.read(counted, plan.flat(), size)))

  beforeAll(async () => {
    db = await open()
    await grow(db, 700)
  })

  test("give every proof that the tiles give, in any order, also when few are remembered", async () => {
    const tile = (level: number, index: number, width: number) => readTile(db, level, index, width)
    for (const limit of [undefined, 3]) {
      const proof = proofs(rememberNodes(limit))
      for (const [index, size] of [
        [0, 1],
        [0, 700],
        [699, 700],
        [511, 513],
        [255, 256],
        [256, 700],
        [0, 257],
        [600, 601],
      ] as const)
        expect(await proof(inclusionPath(index, size), size)).toEqual(hex(await buildInclusionProof(index, size, tile)))
      for (const [first, second] of [
        [1, 700],
        [256, 512],
        [511, 700],
        [699, 700],
        [300, 300],
        [3, 7],
      ] as const)
        expect(await proof(consistencyPath(first, second), second)).toEqual(
          hex(await buildConsistencyProof(first, second, tile)),
        )
    }
  })

  test("are read once, and of a right edge that grew only what is new", async () => {
    const proof = proofs(rememberNodes())
    reads = 0
    await proof(inclusionPath(5, 700), 700)
    const first = reads
    expect(first).toBeGreaterThan(0)
    await proof(inclusionPath(5, 700), 700)
    expect(reads).toBe(first)
    await grow(db, 1)
    await proof(inclusionPath(5, 701), 701)
    expect(reads).toBe(first + 1)
  })

  test("make partial tiles as they were when the tree ended there", async () => {
    const nodes = rememberNodes()
    for (const [level, index, width] of [
      [0, 2, 100],
      [0, 2, 188],
      [0, 0, 7],
      [1, 0, 2],
      [0, 1, 256],
    ] as const) {
      const tile = await readTileThrough(nodes, db, { level, index, width }, 700)
      expect(encodeHex(tile)).toBe(encodeHex(await readTile(db, level, index, width)))
    }
  })

  test("keep nothing else in memory", async () => {
    const plan = [...inclusionPath(3, 700).flat(), ...inclusionPath(699, 700).flat()]
    const hashOf = await rememberNodes().read(db, plan, 700)
    for (const node of plan) expect(hashOf(node).buffer.byteLength).toBeLessThanOrEqual(64)
  })

  test("of a log that has not grown to there are refused", async () => {
    const read = rememberNodes().read(db, [{ level: 0, index: 900 }], 1000)
    await expect(read).rejects.toMatchObject({ code: "corrupt" })
  })

  test("that were not asked for have no hash", async () => {
    const hashOf = await rememberNodes().read(db, [{ level: 0, index: 1 }], 700)
    expect(() => hashOf({ level: 0, index: 2 })).toThrow("was not asked for")
  })
})
