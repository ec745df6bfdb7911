/** What a batch reads and writes of permits and keys, while it holds the lock of the log's head: a table that grows must not make it slower. */
import { expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import type { Database } from "../driver/database.ts"
import type { Tx } from "../driver/session.ts"
import { findIdempotencyKeys, lockKeys, updateKeys } from "./idempotency-keys.ts"
import { insertPermits, lockPermits, type PermitRow, settlePermits } from "./permits-table.ts"

/** So many that a scan of all rows costs more than it may, and so few that a planner without a hint would choose one. */
const ROWS = 4000

const permitId = (number: number): string => `pmt-${number.toString(16).padStart(32, "0")}`
const keyHash = (number: number): string => number.toString(16).padStart(64, "0")
const numbers = Array.from({ length: ROWS }, (_, at) => at + 1)

const permit = (number: number): PermitRow => ({
  permit_id: permitId(number),
  owner: 1,
  owner_ordinal: number,
  state: "open",
  program_id: keyHash(1),
  route_id: "payments/transfer",
  audience: "payments.example",
  charge_id: "",
  window_seconds: 86_400,
  window_start: 0,
  cap: 1000,
  reserved: 1,
  opened_at: 1,
  expires_at: 2,
  close_by: 3,
  due_at: 3,
  redeem_required: false,
  redeemed_at: 0,
  redemption_entry: "",
  redemption_unknown: false,
  run_id: 0,
  end_ordinal: 0,
  log_index: number,
  opening_hash: keyHash(number),
  disclosure_seed: new Uint8Array(32),
})

/** Rows of a table that a transaction read by scans of all of it. */
async function scannedRows({ sql }: Tx, table: string): Promise<number> {
  const [row] = await sql<{ readonly rows: number }[]>`
    select coalesce(sum(seq_tup_read), 0)::bigint as rows from pg_stat_xact_user_tables where relname = ${table}::text`
  return row?.rows ?? Number.NaN
}

bothDatabases("one row among many", open => {
  const filled = async (fill: (tx: Tx) => Promise<unknown>): Promise<Database> => {
    const db = await open()
    await db.transaction(fill)
    return db
  }

  test("permits are locked and settled without a scan of all permits", async () => {
    const db = await filled(tx => insertPermits(tx, numbers.map(permit)))
    await db.transaction(async tx => {
      const locked = await lockPermits(tx, [permitId(7), permitId(9), permitId(ROWS + 1)])
      expect([...locked.keys()]).toEqual([permitId(7), permitId(9)])
      await settlePermits(tx, [{ permit_id: permitId(7), state: "closed", run_id: 5, end_ordinal: 0 }])
      expect(await scannedRows(tx, "permit")).toBe(0)
      const after = await lockPermits(tx, [permitId(7), permitId(9)])
      expect([...after.values()].map(({ state }) => state)).toEqual(["closed", "open"])
    })
  })

  test("idempotency keys are read and written without a scan of all keys", async () => {
    const claims = numbers.map(number => ({ key_hash: keyHash(number), request_digest: keyHash(number) }))
    const db = await filled(tx => lockKeys(tx, claims, 1))
    await db.transaction(async tx => {
      const [claim] = claims
      if (claim === undefined) throw new Error("there are claims")
      const found = await findIdempotencyKeys({ read: work => work(tx) }, [claim.key_hash])
      expect(found.map(({ key_hash }) => key_hash)).toEqual([claim.key_hash])
      await updateKeys(tx, [{ ...claim, charge_id: "", record_id: "7", kept_at: 2 }])
      expect(await scannedRows(tx, "idempotency_key")).toBe(0)
    })
    const [after] = await findIdempotencyKeys(db, [keyHash(1)])
    expect(after?.record_id).toBe("7")
  })
})
