/** Two services' world for failovers: a real primary, a real standby, and an address that leads from one to the other. */
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, onTestFinished } from "vitest"
import { type PostgresCluster, type PostgresStandby, startPostgresCluster } from "../../cluster/postgres-cluster.ts"
import { READINESS_CACHE_MS } from "../../src/sealing/readiness.ts"
import { openDatabase } from "../../src/store/driver/database.ts"
import type { ServerPlace } from "../../src/store/driver/server-start.ts"
import { type Answer, expectRefused } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { openService, type TestService } from "../harness/test-service.ts"
import { until } from "../harness/until.ts"
import { runOn } from "./standby.ts"
import { openSwitchingProxy, type SwitchingProxy } from "./switching-proxy.ts"

const folder = mkdtempSync(join(tmpdir(), "runseal-failover-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

export type World = {
  readonly primary: PostgresCluster
  readonly standby: PostgresStandby
  readonly proxy: SwitchingProxy
  /** Starts a server with a keys folder. */
  readonly serve: (keysDir: string, clock?: TestService["clock"], place?: ServerPlace) => Promise<TestService>
  /** The primary is lost and the standby takes its place. */
  readonly failOver: () => Promise<void>
  /** A keys folder with the keys of another. */
  readonly keysLike: (keysDir: string, how: "keys" | "all") => string
  readonly keysDir: string
}

let worlds = 0

export async function openWorld(synchronous = false): Promise<World> {
  const started = await startPostgresCluster()
  if (started.kind === "absent") throw new Error(started.reason)
  const { cluster: primary } = started
  onTestFinished(() => primary.stop())
  const standby = await primary.addStandby("standby")
  if (synchronous)
    await runOn(primary.url, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")
  const proxy = await openSwitchingProxy(primary.url)
  onTestFinished(() => proxy.close())
  const own = join(folder, `${++worlds}`)
  let copies = 0
  return {
    primary,
    standby,
    proxy,
    keysDir: join(own, "keys"),
    keysLike: (keysDir, how) => {
      const copy = join(own, `copy-${++copies}`)
      if (how === "all") cpSync(keysDir, copy, { recursive: true })
      else cpSync(join(keysDir, "signing-keys.json"), join(copy, "signing-keys.json"))
      return copy
    },
    serve: async (keysDir, clock, place = { url: proxy.url }) => {
      const open = () => openDatabase({ kind: "postgres", ...place })
      const service = await openService({ open, keysDir, ...(clock === undefined ? {} : { clock }) })
      onTestFinished(() => service.close())
      return service
    },
    failOver: async () => {
      await primary.crash()
      await standby.promote()
      proxy.switchTo(standby.url)
    },
  }
}

/** Asks until the service seals again, which it refuses to do while the failover is under way. */
export async function untilSealed(service: TestService): Promise<Answer> {
  return until("a run is sealed again", async () => {
    const answer = await service.execute(request())
    if (answer.status === 200) return answer
    expectRefused(answer, 503)
    return undefined
  })
}

/** Has the server look at its database now, as it does every two seconds; what `/ready` says then. */
export async function lookAgain(service: TestService): Promise<Answer> {
  service.clock.advance(READINESS_CACHE_MS)
  return service.get("/ready")
}

/** Waits until the server has looked at its database, and found that it may seal. */
export const untilReady = (service: TestService): Promise<true> =>
  until("the server is ready", async () => (await lookAgain(service)).status === 200)

export const sizeOf = async (service: TestService): Promise<number> => {
  const [head] = await service.db.sql<{ size: number }[]>`select size from log_head`
  return head?.size ?? -1
}
/** Every checkpoint that a service ever showed, by size. */
export const checkpointOf = async (service: TestService): Promise<string> => (await service.get("/log/checkpoint")).text
