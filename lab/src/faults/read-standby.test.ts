/** Decision 0152: lists, records and full tiles are read on a standby, and nothing that it lacks, lost or invents shows in an answer. */
import { once } from "node:events"
import { createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import {
  type PostgresCluster,
  type PostgresStandby,
  startPostgresCluster,
} from "../../../apps/server/cluster/postgres-cluster.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { cutOff, runOn, untilCaughtUp } from "../../../apps/server/spec/database/standby.ts"
import { openSwitchingProxy, type SwitchingProxy } from "../../../apps/server/spec/database/switching-proxy.ts"
import { closed, openedId } from "../../../apps/server/spec/harness/asked-permits.ts"
import { numberAt } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { openService, type TestService } from "../../../apps/server/spec/harness/test-service.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { createMetrics } from "../../../apps/server/src/http/metrics/metrics.ts"
import { openDatabase, openStandby } from "../../../apps/server/src/store/driver/database.ts"

const DEADLINE_MS = 480_000
const USED = /"the read standby is used"/
const NO_STANDBY = /It is no standby, or was promoted\./

let primary: PostgresCluster
let databases = 0

type Served = TestService & {
  readonly url: string
  readonly standbyUrl: string
  readonly standby: PostgresStandby
  /** How many reads were answered by which servers so far. */
  readonly reads: (servers: "standby" | "primary" | "both") => Promise<number>
  readonly untilUsed: () => Promise<unknown>
}

/** The same database on another server. */
const at = (server: string, database: string): string =>
  Object.assign(new URL(server), { pathname: new URL(database).pathname }).href

async function serve(standbyUrl: (own: string) => string, standby: PostgresStandby, url: string): Promise<Served> {
  const metrics = createMetrics()
  const read = standbyUrl(url)
  const service = await openService({
    open: () => openDatabase({ kind: "postgres", url }),
    standby: () => openStandby({ url: read }),
    metrics,
  })
  onTestFinished(() => service.close())
  const logged = (pattern: RegExp): boolean => service.logLines.some(line => pattern.test(line))
  return {
    ...service,
    url,
    standbyUrl: read,
    standby,
    reads: async servers => {
      const { text } = await metrics.expose()
      return Number(new RegExp(`^runseal_reads_total\\{servers="${servers}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0)
    },
    untilUsed: () => until("the standby is used", async () => logged(USED)),
  }
}

/** A service on a database with a standby of its own, and one run. @param lead gives the address that leads to the standby */
async function serveWithStandby(lead = async (standby: string) => standby): Promise<Served> {
  const url = await primary.createDatabase(`reads_${++databases}`)
  const standby = await primary.addStandby(`standby_${databases}`)
  const address = await lead(standby.url)
  const service = await serve(own => at(address, own), standby, url)
  expect((await service.execute(request())).status).toBe(200)
  await untilCaughtUp(standby.url, primary.url)
  await service.untilUsed()
  return service
}

/** Reads that a standby answers when it has what they need. */
const READS = [
  "/runs/1",
  "/runs",
  "/runs/search?status=ok",
  "/runs/1/artifacts",
  "/runs/1/verify",
  "/runs/1/report.pdf",
]

const isEach = async (service: Served, status: number): Promise<void> => {
  for (const path of READS) expect((await service.get(path)).status, path).toBe(status)
}

describe.skipIf(postgresStart.kind === "absent")(`a read standby ${postgresTitle}`, { timeout: DEADLINE_MS }, () => {
  beforeAll(async () => {
    const started = await startPostgresCluster()
    if (started.kind === "absent") throw new Error(started.reason)
    primary = started.cluster
  })
  afterAll(() => primary?.stop())

  test("is asked for lists, records and reports, and for an export's records; no other read goes there", async () => {
    const service = await serveWithStandby()
    await isEach(service, 200)
    expect(await service.reads("standby")).toBe(READS.length)
    expect((await service.get("/runs/export")).text.trim().split("\n")).toHaveLength(2)
    expect(await service.reads("standby")).toBe(READS.length + 1)
    for (const path of [
      "/log/checkpoint",
      "/ready",
      "/log/entry/0",
      "/.well-known/runseal-trust.json",
      "/log/tile/0/000.p/1",
    ])
      expect((await service.get(path)).status, path).toBe(200)
    expect((await service.get("/runs/2")).status, "the primary has the last word").toBe(404)
    expect([await service.reads("standby"), await service.reads("both")]).toEqual([READS.length + 1, 1])
  })

  test("is asked for full tiles below a checkpoint that was shown, and for no others", async () => {
    const service = await serveWithStandby()
    const tiles = ["/log/tile/0/000", "/log/tile/entries/000"]
    for (let wave = 0; wave < 4; wave++) {
      const answers = await Promise.all(Array.from({ length: 40 }, () => service.execute(request())))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    }
    await untilCaughtUp(service.standby.url, primary.url)
    const readTiles = () => Promise.all(tiles.map(async path => (await (await service.request(path)).bytes()).length))
    const before = await readTiles()
    expect(await service.reads("standby")).toBe(0)
    await service.get("/log/checkpoint")
    expect(await readTiles()).toEqual(before)
    expect(await service.reads("standby")).toBe(tiles.length)
    expect((await service.get("/log/tile/1/000.p/1")).status).toBe(200)
    expect((await service.get("/log/tile/0/001.p/1")).status).toBe(200)
    expect(await service.reads("standby")).toBe(tiles.length)
  })

  test("that lags: what it lacks is asked of the primary, and a list has what was acknowledged", async () => {
    const service = await serveWithStandby()
    await cutOff(service.standby.url)
    expect((await service.execute(request())).body.run_id).toBe(2)
    expect((await service.get("/runs/1")).status).toBe(200)
    expect(await service.reads("standby")).toBe(1)
    expect((await service.get("/runs/2")).status).toBe(200)
    expect(numberAt((await service.get("/runs")).body, "total")).toBe(2)
    expect(numberAt((await service.get("/runs/search?status=ok")).body, "total")).toBe(2)
    expect(await service.reads("both")).toBe(3)
    await service.execute(request())
    expect((await service.get("/runs/export")).text.trim().split("\n")).toHaveLength(4)
  })

  test("that lags lacks no opening of a permit in an export from its close on", async () => {
    const service = await serveWithStandby()
    const id = await openedId(service)
    await untilCaughtUp(service.standby.url, primary.url)
    await cutOff(service.standby.url)
    service.clock.advance(1000)
    const from = new Date(service.clock.nowMs()).toISOString()
    await closed(service, id)
    const { text } = await service.get(`/runs/export?from=${from}`)
    expect(text.trim().split("\n"), "statement, opening, record").toHaveLength(3)
  })

  test("that is promoted says nothing any more, at once", async () => {
    const service = await serveWithStandby()
    await service.standby.promote()
    await runOn(service.standbyUrl, "update run set program_id = repeat('f', 64)")
    const forged = await runOn<{ program_id: string }>(service.standbyUrl, "select program_id from run")
    expect((await service.get("/runs/1")).body.program_id).not.toBe(forged[0]?.program_id)
    await isEach(service, 200)
    expect(await service.reads("standby")).toBe(0)
    await until("the operator is told", async () => service.logLines.some(line => NO_STANDBY.test(line)))
  })

  test("that is gone costs no answer, and is used again when it is back", async () => {
    const service = await serveWithStandby()
    await service.standby.crash()
    await isEach(service, 200)
    expect(await service.reads("standby")).toBe(0)
    await service.standby.start()
    await until("it answers again", async () => {
      await service.get("/runs/1")
      return (await service.reads("standby")) > 0
    })
  })

  test("behind an address that never answers costs a request its time, and never the answer", async () => {
    const hanging = createServer(() => {}).listen(0, "127.0.0.1")
    await once(hanging, "listening")
    onTestFinished(() => void hanging.close())
    const bound = hanging.address()
    let proxy: SwitchingProxy | undefined
    const service = await serveWithStandby(async standby => {
      proxy = await openSwitchingProxy(standby)
      return proxy.url
    })
    onTestFinished(() => proxy?.close())
    expect((await service.get("/runs/1")).status).toBe(200)
    expect(await service.reads("standby")).toBe(1)
    proxy?.switchTo(`postgres://127.0.0.1:${typeof bound === "object" ? bound?.port : 0}/x`)
    const paths = Array.from({ length: 10 }, () => [
      "/runs/1",
      "/runs",
      "/runs/search?status=ok",
      "/runs/1/artifacts",
    ]).flat()
    const answers = await Promise.all(paths.map(service.get))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await service.reads("standby")).toBe(1)
  })

  test("whose log holds what the primary's does not is not used, nor is a standby of another database or a primary", async () => {
    const service = await serveWithStandby()
    await cutOff(service.standby.url)
    // As after a failover to another standby, which had less.
    await runOn(service.url, "update log_head set root = decode(repeat('00', 32), 'hex')")
    await until("it is found", async () =>
      service.logLines.some(line => /log entries that the primary does not hold/.test(line)),
    )
    expect((await service.get("/runs/1")).status).toBe(200)
    expect(await service.reads("standby")).toBe(0)

    const other = await serve(() => at(service.standby.url, service.url), service.standby, await newPostgresUrl())
    await until("it is found", async () => other.logLines.some(line => /standby of another database/.test(line)))
    const self = await serve(own => own, service.standby, await newPostgresUrl())
    await until("it is found", async () => self.logLines.some(line => NO_STANDBY.test(line)))
    for (const unfit of [other, self]) {
      expect((await unfit.execute(request())).status).toBe(200)
      expect((await unfit.get("/runs/1")).status).toBe(200)
      expect(await unfit.reads("standby")).toBe(0)
    }
  })
})
