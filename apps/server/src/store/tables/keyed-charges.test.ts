import { randomUUID } from "node:crypto"
import { beforeAll, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import type { Database } from "../driver/database.ts"
import { lockKeys, updateKeys } from "./idempotency-keys.ts"
import { type Charge, chargeWindows, readWindow } from "./tenant-windows.ts"

const WINDOW_START = 1_700_006_400_000
const WINDOW = { window_seconds: 3600, window_start: WINDOW_START }

const claimOf = (key: string, request = "request") => ({ key_hash: key, request_digest: request })

bothDatabases("charges under idempotency keys", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
  })
  const charge = (tenant_id: string, tokens: number, changes: Partial<Charge> = {}): Charge => ({
    charge_id: randomUUID(),
    tenant_id,
    ...WINDOW,
    tokens,
    charged_at: WINDOW_START,
    ...changes,
  })
  const total = async (tenant_id: string, window_start = WINDOW_START) =>
    (await readWindow(db, { tenant_id, ...WINDOW, window_start })).total
  const charged = async (tenant_id: string) =>
    [
      ...(await db.sql<{ charge_id: string; total_after: number }[]>`
        select charge_id, total_after from token_movement where tenant_id = ${tenant_id} order by total_after`),
    ].map(({ charge_id, total_after }) => ({ charge_id, total_after }))

  test("the next attempt at a request takes its charge over, whatever was charged in between", async () => {
    const claim = claimOf("over")
    const first = charge("over", 10, { claim })
    const between = charge("over", 5)
    const next = charge("over", 10, { claim })
    expect(await chargeWindows(db, [first])).toEqual([{ ok: true, ordinal: 1, total_after: 10 }])
    await chargeWindows(db, [between])
    expect(await chargeWindows(db, [charge("over", 1), next, charge("over", 2)])).toEqual([
      { ok: true, ordinal: 3, total_after: 16 },
      { ok: true, ordinal: 1, total_after: 10 },
      { ok: true, ordinal: 4, total_after: 18 },
    ])
    expect(await total("over")).toBe(18)
    const [oldest] = await charged("over")
    expect(oldest).toEqual({ charge_id: next.charge_id, total_after: 10 })
  })

  test("another request under the key, and one in the next window, are charged by themselves", async () => {
    const later = WINDOW_START + 3_600_000
    await chargeWindows(db, [charge("anew", 10, { claim: claimOf("anew") })])
    await chargeWindows(db, [charge("anew", 7, { claim: claimOf("anew", "another") })])
    expect(await total("anew")).toBe(17)
    const inLater = { claim: claimOf("anew", "another"), window_start: later }
    expect(await chargeWindows(db, [charge("anew", 7, inLater)])).toEqual([{ ok: true, ordinal: 1, total_after: 7 }])
    expect(await chargeWindows(db, [charge("anew", 7, inLater)])).toEqual([{ ok: true, ordinal: 1, total_after: 7 }])
    expect([await total("anew"), await total("anew", later)]).toEqual([17, 7])
  })

  test("nothing is charged once the key has a record", async () => {
    const claim = claimOf("sealed")
    await chargeWindows(db, [charge("sealed", 10, { claim })])
    await db.transaction(async tx => {
      await lockKeys(tx, [claim], WINDOW_START)
      await updateKeys(tx, [{ ...claim, record_id: "1", charge_id: "", kept_at: WINDOW_START }])
    })
    expect(await chargeWindows(db, [charge("sealed", 10, { claim }), charge("sealed", 1)])).toEqual([
      { ok: false, reason: "sealed" },
      { ok: true, ordinal: 2, total_after: 11 },
    ])
    expect(await charged("sealed")).toHaveLength(2)
  })

  test("two attempts in one batch take one charge over, and the other is charged", async () => {
    const claim = claimOf("twice")
    await chargeWindows(db, [charge("twice", 10, { claim })])
    const both = [charge("twice", 10, { claim }), charge("twice", 10, { claim })]
    expect(await chargeWindows(db, both)).toEqual([
      { ok: true, ordinal: 1, total_after: 10 },
      { ok: true, ordinal: 2, total_after: 20 },
    ])
    const expected = both.map(({ charge_id }, i) => ({ charge_id, total_after: 10 * (i + 1) }))
    expect(await charged("twice")).toEqual(expected)
  })

  test("a charge that overflows the window leaves the key to the next attempt", async () => {
    const claim = claimOf("overflow")
    await chargeWindows(db, [charge("overflow", 1)])
    const most = Number.MAX_SAFE_INTEGER
    expect(await chargeWindows(db, [charge("overflow", most, { claim })])).toEqual([{ ok: false, reason: "overflow" }])
    expect(await chargeWindows(db, [charge("overflow", 2, { claim })])).toEqual([
      { ok: true, ordinal: 2, total_after: 3 },
    ])
  })

  test("attempts at once, of several keys and in any order, charge each key once", async () => {
    const keys = ["k1", "k2", "k3", "k4"]
    const batch = (i: number): Charge[] =>
      (i % 2 === 0 ? keys : keys.toReversed()).map(key => charge("at once", 10, { claim: claimOf(key) }))
    await Promise.all(Array.from({ length: 12 }, (_, i) => chargeWindows(db, batch(i))))
    expect(await total("at once")).toBe(40)
    expect((await charged("at once")).map(({ total_after }) => total_after)).toEqual([10, 20, 30, 40])
  })
})
