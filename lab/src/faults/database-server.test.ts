/** A PostgreSQL server that is suspended (SIGSTOP), or goes down, and comes back. */

import { type PostgresCluster, startPostgresCluster } from "@runseal/server/postgres-cluster"
import { openDatabase } from "@runseal/server/store/driver/database"
import { lockTenants } from "@runseal/server/store/tables/tenants"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"

describe.skipIf(postgresStart.kind === "absent")(`a PostgreSQL server ${postgresTitle}`, () => {
  let started: PostgresCluster | undefined
  const cluster = (): PostgresCluster => {
    if (started === undefined) throw new Error("the cluster stands during tests only")
    return started
  }
  beforeAll(async () => {
    const start = await startPostgresCluster()
    if (start.kind === "absent") throw new Error(start.reason)
    started = start.cluster
  })
  afterAll(() => started?.stop())

  test("that stands still ends what waits for it in time, and is used again when it goes on", async () => {
    const db = await openDatabase({ kind: "postgres", url: await cluster().createDatabase("still") })
    const pid = cluster().pid()
    const backends = await db.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    const stopped = [pid, ...backends.map(backend => backend.pid)]
    for (const one of stopped) process.kill(one, "SIGSTOP")
    const since = performance.now()
    const refused = await Promise.allSettled([
      db.transaction(({ sql }) => sql`select 1`),
      db.write(({ sql }) => sql`select 1`),
      db.count(({ sql }) => sql`select 1`),
      db.quick.read(async ({ sql }) => sql`select 1`),
    ])
    const took = performance.now() - since
    for (const one of stopped) process.kill(one, "SIGCONT")
    expect(refused).toMatchObject([
      { reason: { code: "unavailable", late: true } },
      { reason: { code: "outcome_unknown", late: true } },
      { reason: { code: "unavailable", late: true } },
      { reason: { code: "unavailable", late: true } },
    ])
    expect(took).toBeLessThan(60_000)
    expect(await db.transaction(({ sql }) => sql`select 1 as one`)).toEqual([{ one: 1 }])
    await db.close()
  })

  test("that goes down is unavailable, and used again once it is back", async () => {
    const db = await openDatabase({ kind: "postgres", url: await cluster().createDatabase("down") })
    await db.transaction(tx => lockTenants(tx, [{ tenant_id: "kept", owner: 1, salt: "0" }]))
    const running = db.transaction(async ({ sql }) => sql`select pg_sleep(5)`).catch((error: unknown) => error)
    await cluster().crashAndRestart()
    expect(await running).toMatchObject({ name: "StoreError", code: "unavailable" })
    expect(await db.sql`select tenant_id from tenant`).toEqual([{ tenant_id: "kept" }])
    await db.close()
  })
})
