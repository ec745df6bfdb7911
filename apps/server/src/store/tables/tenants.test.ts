import { beforeAll, expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import type { Database } from "../driver/database.ts"
import { findTenants, lockTenants, NO_RECORD, updateTenants } from "./tenants.ts"

const claim = (tenant_id: string, owner: number, salt = "a".repeat(64)) => ({ tenant_id, owner, salt })

bothDatabases("tenants", open => {
  let db: Database
  beforeAll(async () => {
    db = await open()
  })

  test("a new tenant has no record and keeps the first salt it was given", async () => {
    const made = await db.transaction(tx => lockTenants(tx, [claim("new", 1)]))
    const expected = {
      tenant_id: "new",
      owner: 1,
      salt: "a".repeat(64),
      record_count: 0,
      run_count: 0,
      head: NO_RECORD,
    }
    expect(made.get("new")).toEqual(expected)
    const again = await db.transaction(tx => lockTenants(tx, [claim("new", 1, "b".repeat(64))]))
    expect(again.get("new")).toEqual(expected)
  })

  test("those that exist are found and locked, the others are not made", async () => {
    const [one, other] = [claim("found", 3), claim("unmade", 4)]
    await db.transaction(tx => lockTenants(tx, [one]))
    const found = await db.transaction(tx => findTenants(tx, [other, one]))
    expect([...found.keys()]).toEqual(["found"])
    expect(await db.transaction(tx => findTenants(tx, []))).toEqual(new Map())
    expect(await db.sql`select 1 from tenant where tenant_id = 'unmade'`).toHaveLength(0)
    const foreign = db.transaction(tx => findTenants(tx, [claim("found", 5)]))
    await expect(foreign).rejects.toMatchObject({ code: "conflict" })
  })

  test("heads move together, and a later batch finds them moved", async () => {
    const claims = [claim("moved-1", 11), claim("moved-2", 12)]
    await db.transaction(async tx => {
      await lockTenants(tx, claims)
      await updateTenants(tx, [
        { tenant_id: "moved-1", record_count: 3, run_count: 2, head: "c".repeat(64) },
        { tenant_id: "moved-2", record_count: 1, run_count: 1, head: "d".repeat(64) },
      ])
    })
    const found = await db.transaction(tx => lockTenants(tx, claims))
    expect([...found.values()].map(({ record_count, head }) => [record_count, head[0]])).toEqual([
      [3, "c"],
      [1, "d"],
    ])
  })

  test("a batch that rolls back leaves neither tenant nor head behind", async () => {
    const batch = db.transaction(async tx => {
      await lockTenants(tx, [claim("undone", 21)])
      throw new Error("the sealer gave up")
    })
    await expect(batch).rejects.toThrow("the sealer gave up")
    expect(await db.sql`select 1 from tenant where tenant_id = 'undone'`).toHaveLength(0)
  })

  test("a tenant has one owner and an owner one tenant", async () => {
    await db.transaction(tx => lockTenants(tx, [claim("owned", 31)]))
    const stolen = db.transaction(tx => lockTenants(tx, [claim("owned", 32)]))
    await expect(stolen).rejects.toMatchObject({ code: "conflict" })
    const second = db.transaction(tx => lockTenants(tx, [claim("owned-too", 31)]))
    await expect(second).rejects.toMatchObject({ code: "conflict" })
  })

  test("a head of an unknown tenant is not moved", async () => {
    const moved = db.transaction(tx =>
      updateTenants(tx, [{ tenant_id: "nobody", record_count: 1, run_count: 1, head: NO_RECORD }]),
    )
    await expect(moved).rejects.toMatchObject({ code: "conflict" })
  })

  test("batches that lock the same tenants in any order wait, none fails and no record is lost", async () => {
    const orders = [
      ["x", "y", "z"],
      ["z", "y", "x"],
      ["y", "z", "x"],
      ["x", "z", "y"],
    ]
    const owners: Record<string, number> = { x: 41, y: 42, z: 43 }
    await Promise.all(
      orders.map(order =>
        db.transaction(async tx => {
          const heads = await lockTenants(
            tx,
            order.map(id => claim(id, owners[id]!)),
          )
          await updateTenants(
            tx,
            [...heads.values()].map(head => ({ ...head, record_count: head.record_count + 1 })),
          )
        }),
      ),
    )
    const rows = await db.sql<{ record_count: number }[]>`select record_count from tenant where owner between 41 and 43`
    expect(rows.map(row => row.record_count)).toEqual([4, 4, 4])
  })
})
