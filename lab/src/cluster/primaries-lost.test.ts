/**
 * Primaries of a real Patroni cluster are lost under load from three servers: nothing that was acknowledged is lost, nothing is
 * forked, refusals come in time, and sealing goes on by itself.
 */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest"
import { startPgBouncer } from "../../../apps/server/cluster/pgbouncer.ts"
import type { Child } from "../../../apps/server/spec/harness/child.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type Deployment, openDeployment } from "../faults/fault-deployment.ts"
import { type Load, startLoad } from "../faults/fault-load.ts"
import { type FaultRow, faultRow } from "../faults/fault-row.ts"
import { drawn, ROUNDS, SEED } from "../faults/rounds.ts"
import { checkExports } from "./check-export.ts"
import { findClusterPrograms } from "./cluster-programs.ts"
import { type PatroniCluster, startPatroniCluster } from "./patroni-cluster.ts"
import type { Member } from "./patroni-member.ts"

const DEADLINE_MS = 600_000 + 240_000 * ROUNDS
/** Of each server. Each pauses after an answer: a lease of Patroni takes its time to end, and every record is read back. */
const CONNECTIONS = 2
const PAUSES_MS = { record: 100, refusal: 1000 }
/** The fault falls at a drawn instant of this time under load. */
const LOAD_MS = 4000
/** Longest from the fault until every server seals again: a lease of 20 s, the promotion, and the servers' own checks. */
const SERVES_AGAIN_WITHIN_MS = 60_000
/** Longest a request may wait for its refusal. The table has the slowest. */
const REFUSED_WITHIN_MS = 10_000
/** What a machine that also runs the cluster may add to it. */
const SLOWNESS_MS = 2_000
/** How long all standbys stay away. */
const AWAY_MS = 20_000

const WAYS = ["the leader's address", "PgBouncer", "the hosts of all members"]

/** In the line that a server logs for each answer of status 500 that is no record. */
const FAILED = '"msg":"request failed"'

const programs = findClusterPrograms()
const where = "missing" in programs ? `Patroni (${programs.missing})` : "Patroni"
let started: PatroniCluster | undefined

beforeAll(async () => {
  if (!("missing" in programs)) started = await startPatroniCluster(programs)
})
afterAll(() => started?.stop())

function clusterHere(): PatroniCluster {
  if (started === undefined) throw new Error("the cluster was not started")
  return started
}

type Loss = {
  readonly name: string
  readonly lose: (leader: Member) => unknown
  readonly restore: (member: Member) => void
}

const LOSSES: readonly Loss[] = [
  { name: "PostgreSQL killed", lose: leader => leader.killPostgres(), restore: () => {} },
  { name: "Patroni suspended", lose: leader => leader.suspend(), restore: member => member.resume() },
  { name: "ports cut", lose: leader => leader.isolate(), restore: member => member.reconnect() },
]

type World = Deployment & { readonly children: readonly Child[] }

/**
 * Three servers on the cluster, each with another way to it: an address that follows the leader, a PgBouncer behind which is that address, and
 * the hosts of all members. The first two share a keys folder, the third has its own copy of the keys, and reads lists and records on one member
 * as long as that is a standby.
 */
async function openWorld(context: TestContext, row: FaultRow, name: string): Promise<World> {
  const serverUrl = await clusterHere().createDatabase(name)
  // The last check keeps this thread busy, which also has to keep the servers' address on the leader.
  const url = clusterHere().severalHosts(name)
  const deployment = await openDeployment(context, { kind: "PostgreSQL", row, url, serverUrl, allKeyed: true })
  const { keysDir, start } = deployment
  const first = await start()
  const copy = `${keysDir}-copy`
  cpSync(join(keysDir, "signing-keys.json"), join(copy, "signing-keys.json"))
  await deployment.check(first)
  const pooler = await startPgBouncer({ server: serverUrl, settings: { server_login_retry: "1" } })
  context.onTestFinished(pooler.stop)
  const pooled = await start([
    ...["--database-url", pooler.through(serverUrl), "--database-pooling", "transaction"],
    ...["--database-direct-url", serverUrl],
  ])
  const standby = await clusterHere().standbyUrl(name)
  const addresses = ["--database-url", url, "--database-read-url", standby]
  const hosts = await start([...addresses, "--keys-dir", copy])
  await until("the standby is read", () => hosts.stdout().includes('"the read standby is used"'))
  return { ...deployment, children: [first, pooled, hosts] }
}

const loadEach = ({ children, memory, secrets }: World): readonly Load[] =>
  children.map(({ url }) =>
    startLoad([url], { memory, secrets, connections: CONNECTIONS, persistent: true, pausesMs: PAUSES_MS }),
  )

const seconds = (times: readonly number[]): string => times.map(ms => (ms / 1000).toFixed(1)).join(" / ")

/** Gives the milliseconds until the slowest refusal. */
async function stopAll(row: FaultRow, loads: readonly Load[]): Promise<number> {
  await Promise.all(loads.map(load => load.stop()))
  for (const load of loads) {
    row.acknowledged += load.acknowledged()
    row.unacknowledged += load.unacknowledged()
  }
  const times = loads.map(load => load.slowestRefusalMs())
  const slowest = Math.max(...times)
  expect(slowest, `seconds until a refusal, at ${WAYS.join(", ")}: ${seconds(times)}`).toBeLessThan(
    REFUSED_WITHIN_MS + SLOWNESS_MS,
  )
  return slowest
}

/** Waits until each load got records for requests that were sent from now on. Gives the milliseconds since the fault, for each. */
async function untilEachSeals(loads: readonly Load[], since: number): Promise<readonly number[]> {
  const before = loads.map(load => load.acknowledged())
  return Promise.all(
    loads.map(async (load, at) => {
      // Those under way on each connection, and one more.
      const sealed = (): boolean => load.acknowledged() > before[at]! + CONNECTIONS
      const left = SERVES_AGAIN_WITHIN_MS - (performance.now() - since)
      await until(`the server at ${WAYS[at]} seals again`, sealed, left)
      return performance.now() - since
    }),
  )
}

/**
 * Waits until the cluster is whole and every server takes records. A member that comes back may call itself the leader for a moment, and the
 * address leads to it: then a server shows no head, which is right.
 */
async function untilSettled({ children }: World): Promise<Member> {
  const leader = await clusterHere().untilWhole()
  for (const child of children)
    await until("every server is ready", async () => (await child.get("/ready")).status === 200, SERVES_AGAIN_WITHIN_MS)
  return leader
}

async function checkAll(world: World, since?: string): Promise<void> {
  const failed = world.children.flatMap(({ stdout }) =>
    stdout()
      .split("\n")
      .filter(line => line.includes(FAILED)),
  )
  expect(failed, "what the servers logged of requests that failed unexpectedly").toEqual([])
  // Whichever is asked, it is one log and one chain a caller.
  for (const child of world.children) {
    await world.check(child)
    await world.audit(child)
  }
  for (const child of world.children) await checkExports(world.holders(child), world.memory, since)
}

async function endAll({ children, finish }: World): Promise<void> {
  const [first, ...rest] = children
  for (const child of rest) expect((await child.end("SIGTERM")).code).toBe(0)
  await finish(first!)
}

async function loseOne(
  context: TestContext,
  world: World,
  row: FaultRow,
  { lose, restore }: Loss,
  round: number,
): Promise<{ readonly again: readonly number[]; readonly slowest: number }> {
  const cluster = clusterHere()
  const leader = await untilSettled(world)
  await world.audit(world.children[0]!)
  const begin = new Date().toISOString()
  const loads = loadEach(world)
  await until("every server seals", () => loads.every(load => load.acknowledged() > 0))
  await sleep(LOAD_MS * drawn("loss", round))
  const since = performance.now()
  context.onTestFinished(() => restore(leader))
  await lose(leader)
  await until(
    "another member leads",
    async () => {
      const found = await cluster.leader()
      return found !== undefined && found !== leader
    },
    SERVES_AGAIN_WITHIN_MS,
  )
  const again = await untilEachSeals(loads, since)
  const slowest = await stopAll(row, loads)
  // The old primary may still run, and take itself for one, while everything is checked.
  await checkAll(world, begin)
  restore(leader)
  return { again, slowest }
}

describe.skipIf("missing" in programs)(where, { timeout: DEADLINE_MS }, () => {
  test("primaries lost: nothing acknowledged is lost, nothing forked, sealed again by itself", async context => {
    const row = faultRow(context, "primary lost", where)
    const world = await openWorld(context, row, "primaries_lost")
    const times: string[] = []
    const refusals: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const loss = LOSSES[(round + SEED - 1) % LOSSES.length]!
      const { again, slowest } = await loseOne(context, world, row, loss, round)
      row.rounds++
      refusals.push(slowest)
      times.push(`${loss.name} ${seconds(again)}`)
      row.note = `slowest refusal ${seconds([Math.max(...refusals)])} s; seconds until each server sealed again: ${times.join(", ")}`
    }
    await untilSettled(world)
    await checkAll(world)
    await endAll(world)
  })

  test("both standbys stopped: refused in time, nothing acknowledged meanwhile, nothing forked when they return", async context => {
    const row = faultRow(context, "both standbys stopped", where)
    const world = await openWorld(context, row, "standbys_stopped")
    const leader = await clusterHere().untilWhole()
    const standbys = clusterHere().members.filter(member => member !== leader)
    const loads = loadEach(world)
    await until("every server seals", () => loads.every(load => load.acknowledged() > 0))
    for (const standby of standbys) await standby.stop()
    const refused = loads.map(load => load.unacknowledged())
    await until("every server refuses", () => loads.every((load, at) => load.unacknowledged() > refused[at]!))
    const acknowledged = loads.map(load => load.acknowledged())
    await sleep(AWAY_MS)
    expect(
      loads.map(load => load.acknowledged()),
      "acknowledged without a standby",
    ).toEqual(acknowledged)
    for (const child of world.children) expect((await child.get("/ready")).status).toBe(503)
    const since = performance.now()
    for (const standby of standbys) standby.start()
    const again = await untilEachSeals(loads, since)
    row.rounds++
    const slowest = await stopAll(row, loads)
    row.note = `slowest refusal ${seconds([slowest])} s; seconds until each server sealed after their return: ${seconds(again)}`
    await untilSettled(world)
    await checkAll(world)
    await endAll(world)
  })
})
