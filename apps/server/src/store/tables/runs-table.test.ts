import { beforeAll, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import type { Database } from "../driver/database.ts"
import type { Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { packBundle } from "./bundle-text.ts"
import { insertDocuments } from "./documents-table.ts"
import { findRun, insertRuns, listRuns, type RunRow, searchRuns } from "./runs-table.ts"

const hash = (number: number): string => number.toString(16).padStart(64, "0")

const row = (run_id: number, changes: Partial<RunRow> = {}): RunRow => ({
  run_id,
  owner: 1,
  owner_ordinal: run_id,
  log_index: run_id,
  refusal: "",
  permit_id: "",
  closing_outcome: "",
  created_at: 1_700_000_000_000 + run_id,
  outcome_kind: "ok",
  error_stage: "",
  program_id: "claims",
  route_id: "eu-1",
  manifest_hash: hash(run_id),
  execution_region: "eu",
  enforcement: "",
  duration_us: 1_500,
  findings: "PAYLOAD_EMPTY:1",
  bundle: `{"kind":"vfa.audit_bundle.v2","run":${run_id}}`,
  disclosure_seed: new Uint8Array(32).fill(run_id),
  ...changes,
})

/** Runs with their documents. */
async function insertSealed(tx: Tx, rows: readonly RunRow[]): Promise<void> {
  await insertDocuments(
    tx,
    rows.map(({ log_index, owner, owner_ordinal, created_at, bundle }) => ({
      log_index,
      owner,
      chain_ordinal: owner_ordinal,
      kind: "bundle",
      instant: created_at,
      leaf_digest: hash(log_index),
      packed: packBundle(bundle),
    })),
  )
  await insertRuns(
    tx,
    rows.map(({ bundle: _, ...row }) => row),
  )
}

const ids = ({ runs }: { readonly runs: readonly { readonly run_id: number }[] }): number[] =>
  runs.map(run => run.run_id)

bothDatabases("runs", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
    const mine = Array.from({ length: 120 }, (_, at) => row(at + 1))
    const theirs = [row(1001, { owner: 2, owner_ordinal: 1 }), row(1002, { owner: 2, owner_ordinal: 2 })]
    await db.transaction(tx => insertSealed(tx, [...mine, ...theirs]))
  })

  test("a stored run comes back with its bundle byte for byte and its seed", async () => {
    const bundle = JSON.stringify({ text: 'é\u2028😀\\u0000 " \t', big: "x".repeat(3_000) })
    const stored = row(2001, { owner: 3, owner_ordinal: 1, bundle })
    await db.transaction(tx => insertSealed(tx, [stored]))
    const found = await findRun(db, 3, 2001)
    expect({ ...found, disclosure_seed: Uint8Array.from(found?.disclosure_seed ?? []) }).toEqual(stored)
  })

  test("a bundle of 1.5 MiB is stored whole", async () => {
    const bundle = "é".repeat(768 * 1024)
    await db.transaction(tx => insertSealed(tx, [row(2101, { owner: 4, owner_ordinal: 1, bundle })]))
    expect((await findRun(db, 4, 2101))?.bundle === bundle).toBe(true)
  })

  test("a batch of any size is stored whole", async () => {
    const batch = Array.from({ length: 700 }, (_, at) => row(5000 + at, { owner: 5, owner_ordinal: at + 1 }))
    await db.transaction(tx => insertSealed(tx, batch))
    expect((await listRuns(db, 5, { limit: 1, offset: 0 })).total).toBe(700)
  })

  test("a run is found by its owner only", async () => {
    expect((await findRun(db, 1, 7))?.run_id).toBe(7)
    expect(await findRun(db, 2, 7)).toBeUndefined()
    expect(await findRun(db, 1, 999_999)).toBeUndefined()
  })

  test("a run list is newest first and counts all runs of the owner", async () => {
    const page = await listRuns(db, 1, { limit: 3, offset: 0 })
    expect(page.total).toBe(120)
    expect(ids(page)).toEqual([120, 119, 118])
    expect(ids(await listRuns(db, 2, { limit: 50, offset: 0 }))).toEqual([1002, 1001])
  })

  test("pages follow each other without gap or overlap, and end", async () => {
    const seen: number[] = []
    for (let offset = 0; offset < 150; offset += 50) seen.push(...ids(await listRuns(db, 1, { limit: 50, offset })))
    expect(seen).toEqual(Array.from({ length: 120 }, (_, at) => 120 - at))
    expect(ids(await listRuns(db, 1, { limit: 50, offset: 120 }))).toEqual([])
  })

  test("an owner without runs has an empty list", async () => {
    expect(await listRuns(db, 77, { limit: 50, offset: 0 })).toEqual({ total: 0, runs: [] })
  })

  test("a summary carries neither bundle, seed nor place in the log", async () => {
    const [summary] = (await listRuns(db, 1, { limit: 1, offset: 0 })).runs
    const { bundle: _, disclosure_seed: __, log_index: ___, ...expected } = row(120)
    expect(summary).toEqual(expected)
  })

  test("a search without filters is the list", async () => {
    const page = { limit: 20, offset: 30 }
    expect(await searchRuns(db, 1, {}, page)).toEqual(await listRuns(db, 1, page))
  })

  test("every filter narrows the search, all of them together too", async () => {
    const owner = 6
    const runs = [
      row(6001, { owner, owner_ordinal: 1, program_id: "a", route_id: "r1", created_at: 100, manifest_hash: "abc0" }),
      row(6002, { owner, owner_ordinal: 2, program_id: "a", route_id: "r2", created_at: 200, manifest_hash: "abd0" }),
      row(6003, {
        owner,
        owner_ordinal: 3,
        program_id: "b",
        route_id: "r1",
        created_at: 300,
        manifest_hash: "abc1",
        outcome_kind: "pepg_deny",
      }),
      row(6004, {
        owner,
        owner_ordinal: 4,
        program_id: "a",
        route_id: "r1",
        created_at: 400,
        manifest_hash: "",
        outcome_kind: "stage_error",
      }),
    ]
    await db.transaction(tx => insertSealed(tx, runs))
    const found = async (filters: Parameters<typeof searchRuns>[2]): Promise<number[]> =>
      ids(await searchRuns(db, owner, filters, { limit: 50, offset: 0 }))
    expect(await found({ program_id: "a" })).toEqual([6004, 6002, 6001])
    expect(await found({ route_id: "r1" })).toEqual([6004, 6003, 6001])
    expect(await found({ status: "pepg_deny" })).toEqual([6003])
    expect(await found({ status: "ok" })).toEqual([6002, 6001])
    expect(await found({ manifest_hash_prefix: "abc" })).toEqual([6003, 6001])
    expect(await found({ manifest_hash_prefix: "" })).toEqual([6004, 6003, 6002, 6001])
    expect(await found({ from_ms: 200, to_ms: 400 })).toEqual([6003, 6002])
    expect(
      await found({ program_id: "a", route_id: "r1", status: "ok", manifest_hash_prefix: "a", from_ms: 1, to_ms: 101 }),
    ).toEqual([6001])
    expect(await found({ program_id: "nobody" })).toEqual([])
  })

  test("a search by time finds runs that were sealed in another order than they were admitted in", async () => {
    const owner = 10
    const instants = [500, 100, 400, 200, 300, 100]
    const runs = instants.map((created_at, at) => row(10_001 + at, { owner, owner_ordinal: at + 1, created_at }))
    await db.transaction(tx => insertSealed(tx, runs))
    const found = (from_ms: number | undefined, to_ms: number | undefined, limit = 50, offset = 0) =>
      searchRuns(db, owner, { from_ms, to_ms }, { limit, offset })
    expect(ids(await found(100, 301))).toEqual([10_006, 10_005, 10_004, 10_002])
    expect(ids(await found(400, undefined))).toEqual([10_003, 10_001])
    expect(ids(await found(undefined, 101))).toEqual([10_006, 10_002])
    const second = await found(100, 301, 2, 2)
    expect([second.total, ids(second)]).toEqual([4, [10_004, 10_002]])
    expect(await found(501, 600)).toEqual({ total: 0, runs: [] })
  })

  test("the total of completed runs leaves out all others, of the owner alone", async () => {
    const owner = 11
    const kinds = ["ok", "pepg_deny", "ok", "stage_error", "ok"] as const
    const runs = kinds.map((outcome_kind, at) => row(11_001 + at, { owner, owner_ordinal: at + 1, outcome_kind }))
    await db.transaction(tx => insertSealed(tx, runs))
    const completed = await searchRuns(db, owner, { status: "ok" }, { limit: 2, offset: 1 })
    expect([completed.total, ids(completed)]).toEqual([3, [11_003, 11_001]])
    expect((await searchRuns(db, 77, { status: "ok" }, { limit: 2, offset: 0 })).total).toBe(0)
    expect((await searchRuns(db, owner, { status: "ok", program_id: "none" }, { limit: 2, offset: 0 })).total).toBe(0)
  })

  test("a search counts all matches, whatever page is asked for", async () => {
    const first = await searchRuns(db, 1, { program_id: "claims" }, { limit: 7, offset: 0 })
    const last = await searchRuns(db, 1, { program_id: "claims" }, { limit: 7, offset: 119 })
    expect([first.total, first.runs.length]).toEqual([120, 7])
    expect([last.total, ids(last)]).toEqual([120, [1]])
  })

  test("wildcards in a prefix are letters", async () => {
    for (const manifest_hash_prefix of ["%", "_", "\\", "0%", "0_"]) {
      expect((await searchRuns(db, 1, { manifest_hash_prefix }, { limit: 1, offset: 0 })).total).toBe(0)
    }
  })

  test("SQL in a filter is text", async () => {
    const found = await searchRuns(db, 1, { program_id: "x' or '1'='1" }, { limit: 1, offset: 0 })
    expect(found.total).toBe(0)
  })

  test("a run number is given once; the whole batch of a second one is refused", async () => {
    const again = db.transaction(tx =>
      insertRuns(tx, [row(8001, { owner: 8, owner_ordinal: 1 }), row(1, { owner: 8, owner_ordinal: 2 })]),
    )
    await expect(again).rejects.toMatchObject({ name: "StoreError", code: "conflict", sqlstate: "23505" })
    expect(await findRun(db, 8, 8001)).toBeUndefined()
  })

  test("an ordinal is given once within an owner", async () => {
    const again = db.transaction(tx => insertSealed(tx, [row(9001, { owner: 1, owner_ordinal: 5 })]))
    await expect(again).rejects.toBeInstanceOf(StoreError)
  })

  test("a stored number beyond 2^53−1 is refused as corrupt, not rounded", async () => {
    await db.transaction(tx => insertSealed(tx, [row(9101, { owner: 9, owner_ordinal: 1 })]))
    await db.sql`update run set duration_us = 9007199254740993 where run_id = 9101`
    await expect(findRun(db, 9, 9101)).rejects.toMatchObject({ code: "corrupt" })
    expect((await findRun(db, 1, 1))?.run_id).toBe(1)
  })
})
