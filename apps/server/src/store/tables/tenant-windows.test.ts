import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bothDatabases, newPostgresUrl, postgresStart, postgresTitle } from "../../../spec/database/databases.ts"
import { type Database, openDatabase } from "../driver/database.ts"
import { lockKeys } from "./idempotency-keys.ts"
import {
  type Charge,
  type ChargeResult,
  chargeWindows,
  createBudgetLedger,
  MAX_WAITING_CHARGES,
  readWindow,
} from "./tenant-windows.ts"

const WINDOW_START = 1_700_006_400_000
let charges = 0

const charge = (tenant_id: string, tokens: number, changes: Partial<Charge> = {}): Charge => ({
  charge_id: `charge-${++charges}`,
  tenant_id,
  window_seconds: 86_400,
  window_start: WINDOW_START,
  tokens,
  charged_at: WINDOW_START + charges,
  ...changes,
})

const windowOf = (tenant_id: string) => ({ tenant_id, window_seconds: 86_400, window_start: WINDOW_START })

const totals = (results: readonly ChargeResult[]): (number | string)[] =>
  results.map(result => (result.ok ? result.total_after : result.reason))

const tens = Array.from({ length: 50 }, (_, at) => (at + 1) * 10)
const ascending = (values: readonly (number | string)[]) => [...values].sort((a, b) => Number(a) - Number(b))

bothDatabases("token charges", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
  })

  test("charges of one batch follow each other, each with the total right after it", async () => {
    const batch = [charge("row", 5), charge("row", 0), charge("row", 7), charge("other", 1)]
    expect(totals(await chargeWindows(db, batch))).toEqual([5, 5, 12, 1])
    expect(totals(await chargeWindows(db, [charge("row", 3)]))).toEqual([15])
    expect(await readWindow(db, windowOf("row"))).toEqual({ total: 15, movements: 4 })
  })

  test("a window without charges is at 0", async () => {
    expect(await readWindow(db, windowOf("nobody"))).toEqual({ total: 0, movements: 0 })
  })

  test("another start or another length is another window", async () => {
    const batch = [
      charge("windows", 1),
      charge("windows", 2, { window_start: WINDOW_START + 86_400_000 }),
      charge("windows", 4, { window_seconds: 3_600 }),
    ]
    expect(totals(await chargeWindows(db, batch))).toEqual([1, 2, 4])
  })

  test("every charge is stored with its total, as made", async () => {
    const made = charge("stored", 9)
    await chargeWindows(db, [made])
    const { charged_at: moved_at, ...columns } = made
    expect(await db.sql`select * from token_movement where tenant_id = 'stored'`).toEqual([
      { ...columns, kind: "charge", ordinal: 1, total_after: 9, moved_at },
    ])
  })

  test("a charge that would pass 2^53−1 is refused alone and leaves no row", async () => {
    const most = Number.MAX_SAFE_INTEGER
    const first = [charge("full", most - 10), charge("full", most), charge("full", 10), charge("full", 1)]
    expect(totals(await chargeWindows(db, first))).toEqual([most - 10, "overflow", most, "overflow"])
    expect(totals(await chargeWindows(db, [charge("full", 1), charge("full", 0)]))).toEqual(["overflow", most])
    expect(await db.sql`select tokens from token_movement where tenant_id = 'full' order by tokens`).toHaveLength(3)
  })

  test("a charge id is used once; the batch of a second one charges nothing", async () => {
    const made = charge("once", 1)
    await chargeWindows(db, [made])
    await expect(chargeWindows(db, [charge("once", 100), made])).rejects.toMatchObject({ code: "conflict" })
    expect(await readWindow(db, windowOf("once"))).toEqual({ total: 1, movements: 1 })
  })

  test("50 charges of 10 at once give each total from 10 to 500 exactly once", async () => {
    const results = await Promise.all(tens.map(() => chargeWindows(db, [charge("crowd", 10)])))
    expect(ascending(totals(results.flat()))).toEqual(tens)
    // Ordinals follow the totals.
    expect(results.flat().map(result => result.ok && result.ordinal * 10)).toEqual(totals(results.flat()))
  })

  test("the ledger gives each of 50 charges a total of its own and commits them in few transactions", async () => {
    const ledger = createBudgetLedger(db)
    const results = await Promise.all(tens.map(() => ledger.charge(charge("ledger", 10))))
    await ledger.close()
    expect(totals(results)).toEqual(tens)
    const [{ transactions } = { transactions: 0 }] = await db.sql<{ transactions: number }[]>`
      select count(distinct xmin::text) as transactions from token_movement where tenant_id = 'ledger'`
    expect(transactions).toBeLessThanOrEqual(2)
  })

  test("a closed ledger refuses, and settles what waits before it is closed", async () => {
    const ledger = createBudgetLedger(db)
    const waiting = ledger.charge(charge("closing", 10))
    await ledger.close()
    expect(await waiting).toEqual({ ok: true, ordinal: 1, total_after: 10 })
    await expect(ledger.charge(charge("closing", 10))).rejects.toMatchObject({ code: "unavailable" })
  })

  test("the ledger refuses a charge at once when too many wait", async () => {
    const ledger = createBudgetLedger(db)
    const taken = Array.from({ length: MAX_WAITING_CHARGES + 256 }, () => ledger.charge(charge("queue", 1)))
    const settled = await Promise.allSettled(taken)
    await ledger.close()
    const refused = settled.filter(({ status }) => status === "rejected").length
    expect(refused).toBeGreaterThan(0)
    const made = taken.length - refused
    expect(await readWindow(db, windowOf("queue"))).toEqual({ total: made, movements: made })
  })

  test("one ledger's failed batch does not stop the next", async () => {
    const ledger = createBudgetLedger(db)
    const made = charge("again", 1)
    await ledger.charge(made)
    await expect(ledger.charge(made)).rejects.toMatchObject({ code: "conflict" })
    expect(await ledger.charge(charge("again", 2))).toEqual({ ok: true, ordinal: 2, total_after: 3 })
    await ledger.close()
  })
})

describe.skipIf(postgresStart.kind === "absent")(`two processes' worth of handles ${postgresTitle}`, () => {
  let handles: readonly Database[] = []
  beforeAll(async () => {
    const url = await newPostgresUrl()
    handles = await Promise.all([1, 2].map(() => openDatabase({ kind: "postgres", url })))
  })
  afterAll(async () => {
    await Promise.all(handles.map(handle => handle.close()))
  })

  test("charges of both give each total exactly once", async () => {
    const ledgers = handles.map(createBudgetLedger)
    const results = await Promise.all(tens.map((_, at) => ledgers[at % 2]!.charge(charge("both", 10))))
    await Promise.all(ledgers.map(ledger => ledger.close()))
    expect(ascending(totals(results))).toEqual(tens)
    expect(results.map(result => result.ok && result.ordinal * 10)).toEqual(totals(results))
  })

  test("a charge without a key waits for no key that another process holds", async () => {
    const [held, db] = [handles[0]!, handles[1]!]
    const claim = { key_hash: "held", request_digest: "request" }
    const ledger = createBudgetLedger(db)
    const order: string[] = []
    const noting = async (name: string, made: Promise<ChargeResult>) => order.push(name, String((await made).ok))
    const both = await held.transaction(async tx => {
      await lockKeys(tx, [claim], WINDOW_START)
      const keyed = noting("keyed", ledger.charge(charge("held", 1, { claim })))
      await noting("plain", ledger.charge(charge("held", 1)))
      return [keyed]
    })
    await Promise.all(both)
    expect(order).toEqual(["plain", "true", "keyed", "true"])
    await ledger.close()
  })

  test("batches that name the same windows in any order wait for each other, none fails", async () => {
    const batches = Array.from({ length: 20 }, (_, at) => {
      const names = ["p", "q", "r", "s"]
      return (at % 2 === 0 ? names : names.toReversed()).map(name => charge(name, 1))
    })
    await Promise.all(batches.map((batch, at) => chargeWindows(handles[at % 2]!, batch)))
    expect(await readWindow(handles[0]!, windowOf("p"))).toEqual({ total: 20, movements: 20 })
    expect(await readWindow(handles[1]!, windowOf("s"))).toEqual({ total: 20, movements: 20 })
  })
})
