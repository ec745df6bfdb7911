/**
 * Decisions 0110, 0112 and 0150 through PgBouncer in transaction mode: its connections to the service outlast a failover, so that only what
 * each transaction says tells that another server is behind them now.
 */
import { describe, expect, onTestFinished, test } from "vitest"
import { startPgBouncer } from "../../../apps/server/cluster/pgbouncer.ts"
import { poolerIsAbsent, poolerTitle } from "../../../apps/server/spec/database/databases.ts"
import {
  lookAgain,
  openWorld,
  sizeOf,
  untilReady,
  untilSealed,
  type World,
} from "../../../apps/server/spec/database/failover-world.ts"
import { cutOff, runOn, untilCaughtUp } from "../../../apps/server/spec/database/standby.ts"
import { expectRefused } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import type { TestService } from "../../../apps/server/spec/harness/test-service.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"

const DEADLINE_MS = 480_000
const OLDER = /older log than was acknowledged, or another/
/** What the service allows is 10 s; four times as long, for a machine that is slow. */
const REFUSED_WITHIN_MS = 40_000

type Pooled = World & {
  readonly a: TestService
  readonly b: TestService
  /** The primary is lost, the standby takes its place, and the pooler leads to it. */
  readonly failOverBehindPooler: () => Promise<void>
}

async function openPooled(synchronous = false): Promise<Pooled> {
  const world = await openWorld(synchronous)
  const { primary, standby, keysDir } = world
  // One connection of the server for all: it is another one for each transaction that comes after a failover.
  const pooler = await startPgBouncer({ server: primary.url, settings: { server_login_retry: "1" } })
  onTestFinished(() => pooler.stop())
  const place = { url: pooler.through(primary.url), pooling: "transaction", directUrl: primary.url } as const
  const a = await world.serve(keysDir, undefined, place)
  const b = await world.serve(keysDir, a.clock, place)
  return {
    ...world,
    a,
    b,
    failOverBehindPooler: async () => {
      await primary.crash()
      await standby.promote()
      await pooler.leadTo(standby.url)
    },
  }
}

describe.skipIf(poolerIsAbsent)(`a failover ${poolerTitle}`, { timeout: DEADLINE_MS }, () => {
  test("that lost records: neither server seals, and no other root comes to be", async () => {
    const { a, b, primary, standby, failOverBehindPooler } = await openPooled()
    await a.execute(request())
    await untilCaughtUp(standby.url, primary.url)
    await cutOff(standby.url)
    expect((await a.execute(request())).status).toBe(200)
    await failOverBehindPooler()
    for (const service of [b, a])
      await until("it is found", async () => {
        expectRefused(await service.execute(request()), 503)
        return OLDER.test(expectRefused(await lookAgain(service), 503))
      })
    expect(await sizeOf(b)).toBe(3)
  })

  test("that lost nothing: both go on", async () => {
    const { a, b, primary, standby, failOverBehindPooler } = await openPooled()
    await b.execute(request())
    await untilCaughtUp(standby.url, primary.url)
    await failOverBehindPooler()
    expect((await untilSealed(a)).body.run_id).toBe(2)
    await untilReady(b)
    expect((await untilSealed(b)).body.run_id).toBe(3)
  })

  test("a commit that no standby confirms has an unknown outcome within the time, also when its wait is cancelled", async () => {
    const { a, primary, standby } = await openPooled(true)
    expect((await a.execute(request())).status).toBe(200)
    await standby.crash()
    const cancelled = a.execute(request())
    await until("the wait is cancelled", async () => {
      const ended = await runOn(
        primary.url,
        "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
      )
      return ended.length > 0
    })
    expect(expectRefused(await cancelled, 503)).toMatch(/not known whether/)
    const since = performance.now()
    const waves = [1, 2].map(() => Promise.all(Array.from({ length: 8 }, () => a.execute(request()))))
    for (const answer of (await Promise.all(waves)).flat()) expectRefused(answer, 503)
    expect(performance.now() - since).toBeLessThan(REFUSED_WITHIN_MS)
    await standby.start()
    await untilReady(a)
    expect((await untilSealed(a)).status).toBe(200)
  })
})
