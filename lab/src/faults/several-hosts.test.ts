/** Decision 0151: an address of several servers. The one that takes writes is found at the start, and again after a failover. */
import { describe, expect, onTestFinished, test } from "vitest"
import { postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { openWorld, untilReady, untilSealed, type World } from "../../../apps/server/spec/database/failover-world.ts"
import { runOn, untilCaughtUp } from "../../../apps/server/spec/database/standby.ts"
import { expectRefused } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { openDatabase } from "../../../apps/server/src/store/driver/database.ts"

const DEADLINE_MS = 480_000
const NOBODY = "127.0.0.1:1"

/** The address of hosts, which have a user and a database in common. */
const addressOf = (hosts: readonly string[]): string =>
  `postgres://runseal@${hosts.join(",")}/postgres?target_session_attrs=read-write`
const hostOf = (url: string): string => new URL(url).host
/** A host that is down, the standby, and the primary: the wrong ones first. */
const addressIn = ({ standby, primary }: World): string => addressOf([NOBODY, hostOf(standby.url), hostOf(primary.url)])

/** Without those that were dropped while their COMMIT waited for a standby: the server keeps them. */
const connectionsTo = async (url: string): Promise<number> => {
  const rows = await runOn<{ n: number }>(
    url,
    "select count(*)::int as n from pg_stat_activity where application_name = 'runseal' and wait_event is distinct from 'SyncRep'",
  )
  return rows[0]?.n ?? -1
}

describe.skipIf(postgresStart.kind === "absent")(`several hosts ${postgresTitle}`, { timeout: DEADLINE_MS }, () => {
  test("a failover without an address that moves: the service goes on by itself", async () => {
    const world = await openWorld()
    const { keysDir, primary, standby } = world
    const place = { url: addressIn(world) }
    const a = await world.serve(keysDir, undefined, place)
    const b = await world.serve(keysDir, a.clock, place)
    await a.execute(request())
    await b.execute(request())
    await untilCaughtUp(standby.url, primary.url)
    await primary.crash()
    const [refused] = await Promise.all(Array.from({ length: 20 }, () => a.execute(request())))
    expectRefused(refused!, 503)
    await standby.promote()
    expect((await untilSealed(a)).body.run_id).toBe(3)
    await untilReady(b)
    expect((await untilSealed(b)).body.run_id).toBe(4)
  })

  test("an old primary that lives on: once the server has found the new one, every connection leaves the old one", async () => {
    const world = await openWorld(true)
    const { keysDir, primary, standby } = world
    const service = await world.serve(keysDir, undefined, { url: addressIn(world) })
    expect((await service.execute(request())).status).toBe(200)
    const readAll = () => Promise.all(Array.from({ length: 40 }, () => service.get("/runs")))
    await readAll()
    expect(await connectionsTo(primary.url), "connections of their own").toBeGreaterThan(3)
    await untilCaughtUp(standby.url, primary.url)
    await standby.promote()
    expect((await untilSealed(service)).body.run_id).toBe(2)
    await until("the old one is left", async () => (await connectionsTo(primary.url)) === 0)
    for (const { status } of await readAll()) expect(status).toBe(200)
    expect((await service.get("/log/checkpoint")).status).toBe(200)
    expect(await connectionsTo(primary.url)).toBe(0)
  })

  test("a primary that takes no writes any more (25006): nothing is written, the next connection looks for another", async () => {
    const world = await openWorld()
    const { keysDir, primary } = world
    const service = await world.serve(keysDir, undefined, { url: addressIn(world) })
    expect((await service.execute(request())).status).toBe(200)
    await runOn(primary.url, "alter system set default_transaction_read_only = on", "select pg_reload_conf()")
    for (let again = 0; again < 3; again++) expectRefused(await service.execute(request()), 503)
    expectRefused(await service.get("/runs"), 503)
    await runOn(
      primary.url,
      "set default_transaction_read_only = off",
      "alter system reset default_transaction_read_only",
      "select pg_reload_conf()",
    )
    expect((await untilSealed(service)).body.run_id).toBe(2)
  })

  test("none that takes writes: the start says so; none that answers: it says that", async () => {
    const { standby } = await openWorld()
    const startAt = (...hosts: readonly string[]) =>
      openDatabase({ kind: "postgres", url: addressOf(hosts) }).then(db => onTestFinished(() => db.close()))
    const name = hostOf(standby.url)
    await expect(startAt(NOBODY, name)).rejects.toThrow(`PostgreSQL at ${NOBODY},${name}: no server takes writes.`)
    await expect(startAt(NOBODY, "127.0.0.1:2")).rejects.toThrow(
      `PostgreSQL at ${NOBODY},127.0.0.1:2 could not be reached (ECONNREFUSED).`,
    )
    const unknown = `postgres://runseal@${NOBODY},${name}/nowhere`
    await expect(openDatabase({ kind: "postgres", url: unknown })).rejects.toThrow(
      `PostgreSQL at ${NOBODY},${name} has no database of the given name`,
    )
  })
})
