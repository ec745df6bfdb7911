/**
 * docs/operations.md, "Failover": a database that is put back under a running service, as when a standby that lagged takes over,
 * is not sealed on.
 */
import { expect, test } from "vitest"
import { READINESS_CACHE_MS } from "../src/sealing/readiness.ts"
import type { Database } from "../src/store/driver/database.ts"
import { bothDatabases } from "./database/databases.ts"
import { expectRefused } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

/** In an order in which they can be emptied, back to front. */
const TABLES = ["tenant", "log_head", "log_entry", "log_tile", "run"] as const

const inOneTransaction = (db: Database, statements: readonly string[]): Promise<void> =>
  db.transaction(async ({ sql }) => {
    for (const statement of statements) await sql.unsafe(statement)
  })

/** Keeps what the tables hold under another name. */
const keep = (db: Database, name: string): Promise<void> =>
  inOneTransaction(
    db,
    TABLES.map(table => `create table ${name}_${table} as table ${table}`),
  )

/** Restores the tables from the copy. */
const putBack = (db: Database, name: string): Promise<void> =>
  inOneTransaction(db, [
    ...TABLES.toReversed().map(table => `delete from ${table}`),
    ...TABLES.map(table => `insert into ${table} select * from ${name}_${table}`),
  ])

bothDatabases("a database that is put back under a running service", open => {
  const service = standingService(() => ({ open }))

  test("takes no record, is not ready and says why, until it holds again what was acknowledged", async () => {
    const { db } = service()
    await service().execute(request())
    await keep(db, "older")
    await service().execute(request())
    await keep(db, "newest")

    await putBack(db, "older")
    const first = service().logLines.length
    for (let again = 0; again < 2; again++) expectRefused(await service().execute(request()), 503)
    expectRefused(await service().post("/attest", { digest: "5e".repeat(32), algorithm: "sha256" }), 503)
    service().clock.advance(READINESS_CACHE_MS)
    expect(expectRefused(await service().get("/ready"), 503)).toMatch(/older log than was acknowledged/)
    expect(service().logLines.slice(first).join()).toMatch(/sealing on it would fork the log/)

    await putBack(db, "newest")
    service().clock.advance(READINESS_CACHE_MS)
    expect((await service().get("/ready")).status).toBe(200)
    expect((await service().execute(request())).body.run_id).toBe(3)
  })
})
