/** A deletion is refused within 10 s, as every request that writes, however many locks it waits for. Decision 0163. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { openDatabase } from "../../src/store/driver/database.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { ADMIN, mint } from "../harness/key-holders.ts"
import { expectRefused } from "../harness/read-answer.ts"
import { standingService } from "../harness/test-service.ts"

describe.skipIf(postgresStart.kind === "absent")(`a deletion ${postgresTitle}`, () => {
  const service = standingService(() => ({
    open: async () => openDatabase({ kind: "postgres", url: await newPostgresUrl() }),
  }))

  test("that waits for one lock after the other is refused in time, and a retry finds it done", async () => {
    const admin = await mint(service(), ADMIN)
    await admin.post("/admin/destinations", { url: "https://events.example/" })
    const heldFor = (ms: number, lock: string) =>
      service().db.transaction(async ({ sql }) => {
        await sql.unsafe(lock)
        await sleep(ms)
      })
    const remove = () => admin.send("DELETE", "/admin/destinations/1")
    const locks = [
      heldFor(6_000, "select from destination for update"),
      heldFor(11_500, "lock table admin_event in exclusive mode"),
    ]
    await sleep(200)
    const since = performance.now()
    expectRefused(await remove(), 503, "outcome_unknown")
    expect(performance.now() - since).toBeLessThan(10_000)
    await Promise.all(locks)
    expect((await remove()).body).toEqual({ ok: true, id: 1, deleted: true })
  })
})
