/** Decision 0110: databases that lack what could be read: commits that were never confirmed, files that were put back. Real servers. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import {
  checkpointOf,
  lookAgain,
  openWorld,
  sizeOf,
  untilReady,
  untilSealed,
} from "../../../apps/server/spec/database/failover-world.ts"
import { cutOff, runOn, untilCaughtUp } from "../../../apps/server/spec/database/standby.ts"
import { type Answer, expectRefused } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"

/** Starts of two servers of PostgreSQL and three services, on a machine that is busy. */
const DEADLINE_MS = 480_000

describe.skipIf(postgresStart.kind === "absent")(`a failover ${postgresTitle}`, { timeout: DEADLINE_MS }, () => {
  test("after a commit whose wait for the standby was cancelled: it is shown to nobody as the log, and all go on without it", async () => {
    const world = await openWorld(true)
    const { keysDir, standby, primary } = world
    const a = await world.serve(keysDir)
    const b = await world.serve(world.keysLike(keysDir, "keys"), a.clock)
    await a.execute(request())
    for (const service of [a, b]) await untilReady(service)
    await untilCaughtUp(standby.url, primary.url)
    const size = await sizeOf(b)
    await cutOff(standby.url)
    await endWaits(primary.url, a.post("/attest", { digest: "d1".repeat(32), algorithm: "sha256" }))
    expect(await sizeOf(b), "what was cancelled can be read").toBeGreaterThan(size)
    const beyond = [
      ...["checkpoint", `entry/${size}`, `consistency?first=1&second=${size + 1}`],
      ...[`tile/0/000.p/${size + 1}`, `tile/entries/000.p/${size + 1}`],
    ]
    for (const service of [a, b])
      for (const answer of await Promise.all(beyond.map(path => service.get(`/log/${path}`))))
        expectRefused(answer, 503)
    expectRefused(await b.post("/attest", { digest: "d2".repeat(32), algorithm: "sha256" }), 503)
    const third = world.keysLike(keysDir, "keys")
    await expect(world.serve(third, a.clock)).rejects.toThrow()
    await world.failOver()
    expect((await untilSealed(b)).body.run_id).toBe(2)
    expect((await untilSealed(a)).body.run_id).toBe(3)
    expect((await (await world.serve(third, a.clock)).execute(request())).body.run_id).toBe(4)
    expect(await checkpointOf(a)).toBe(await checkpointOf(b))
  })

  test.each(["shorter", "as long"])(
    "to files that were put back as they were, with a write-ahead log that is %s: an idle server waits for those who know more",
    async wal => {
      const world = await openWorld()
      const { keysDir, standby, primary, proxy } = world
      const a = await world.serve(keysDir)
      const b = await world.serve(world.keysLike(keysDir, "keys"), a.clock)
      await a.execute(request())
      await untilCaughtUp(standby.url, primary.url)
      await cutOff(standby.url)
      for (let i = 0; i < 3; i++) expect((await a.execute(request())).status).toBe(200)
      await untilReady(b)
      const [place] = await runOn<{ data_directory: string }>(standby.url, "show data_directory")
      await standby.crash()
      rmSync(join(place?.data_directory ?? "", "standby.signal"))
      await standby.start()
      if (wal === "as long") {
        const [at] = await runOn<{ lsn: string }>(primary.url, "select pg_current_wal_lsn()::text as lsn")
        await until("the write-ahead log is as long", async () => {
          const [row] = await runOn<{ done: boolean }>(
            standby.url,
            "select pg_switch_wal()",
            "create temporary table filler (id int)",
            `select pg_current_wal_flush_lsn() > '${at?.lsn}'::pg_lsn as done`,
          )
          return row?.done
        })
      }
      await primary.crash()
      proxy.switchTo(standby.url)
      for (let i = 0; i < 4; i++) {
        for (const service of [a, b]) {
          expectRefused(await service.execute(request()), 503)
          expectRefused(await lookAgain(service), 503)
        }
      }
      expect(expectRefused(await lookAgain(b), 503)).toMatch(/until 1 more of the folders of heads/)
      expect(await sizeOf(b)).toBe(3)
    },
  )
})

/** Cancels every wait for a standby until there is an answer, which is a refusal. */
async function endWaits(primary: string, answering: Promise<Answer>): Promise<void> {
  let answer: Answer | undefined
  void answering.then(got => {
    answer = got
  })
  const ended = await until("the request is answered", async () => {
    await runOn(primary, "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
    return answer
  })
  expectRefused(ended, 503)
}
