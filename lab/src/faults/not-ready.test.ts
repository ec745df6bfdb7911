/** What keeps a server from sealing makes it not ready, and the end of it makes it ready, with no request in between. */
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { JsonObject } from "@runseal/canonical"
import { startPostgresCluster } from "@runseal/server/postgres-cluster"
import postgres from "postgres"
import { describe, expect, onTestFinished, type TestContext, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import type { Child } from "../../../apps/server/spec/harness/child.ts"
import { expectRefused } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type DatabaseLink, openLink } from "./database-link.ts"
import { type Deployment, openDeployment } from "./fault-deployment.ts"
import { holdersAt, startLoad } from "./fault-load.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts"

const DEADLINE_MS = 600_000
/** The database ends the transaction of a suspended server after 30 s. */
const RELEASED_WITHIN_MS = 150_000

let requests = 0
/** A request that no other is like: the checks of a deployment tell them apart. */
const named = (more: JsonObject = {}): JsonObject => request({ route_id: `not-ready/${requests++}`, ...more })

/** Asks until it is not ready, and for a moment more. Gives the reason, which names nothing of the inside. */
async function untilNotReady(child: Child): Promise<string> {
  await until("it is not ready", async () => (await child.get("/ready")).status === 503)
  const reason = expectRefused(await child.get("/ready"), 503)
  expect(reason).not.toMatch(/select|insert|room_looked_for|log_head|SQL|\//)
  expect((await child.get("/health")).status).toBe(200)
  return reason
}

async function untilReady(child: Child, deadlineMs?: number): Promise<void> {
  await until("it is ready", async () => (await child.get("/ready")).status === 200, deadlineMs)
}

async function opened(
  context: TestContext,
  row: FaultRow,
  url: string,
): Promise<Deployment & { readonly child: Child }> {
  const deployment = await openDeployment(context, { kind: "PostgreSQL", row, url })
  return { ...deployment, child: await deployment.start() }
}

/** A transaction of somebody's that holds what sealing needs, until it is let go. */
async function holding(url: string, statement: string): Promise<() => Promise<void>> {
  const sql = postgres(url, { max: 1 })
  await sql.unsafe("begin")
  await sql.unsafe(statement)
  let held = true
  const release = async (): Promise<void> => {
    if (held) await sql.end({ timeout: 1 })
    held = false
  }
  onTestFinished(release)
  return release
}

/** Stops a server while it holds the log and the database waits for the rest of a statement of its. Gives what lets it go on. */
async function stopInStatement(child: Child, link: DatabaseLink, probe: postgres.Sql): Promise<() => void> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await new Promise<void>(reached => link.set({ kind: "stalled", reached, until: released }))
  child.signal("SIGSTOP")
  await until("the database waits for the rest, under the log's lock", async () => {
    const free = await probe`select from log_head for update skip locked`
    const waiting = await probe`
      select from pg_stat_activity join pg_locks using (pid)
      where relation = 'log_head'::regclass and state = 'active' and wait_event = 'ClientRead'`
    return free.length === 0 && waiting.length > 0
  })
  return () => {
    release()
    child.signal("SIGCONT")
  }
}

describe.skipIf(postgresStart.kind === "absent")(postgresTitle, () => {
  test.for([
    ["the log's head", "select from log_head for update"],
    ["a table of the batch", "lock table run in share mode"],
  ] as const)(
    "%s locked by another: refused, not ready, and ready again",
    { timeout: DEADLINE_MS },
    async ([what, statement], context) => {
      const row = faultRow(context, `locked: ${what}`, "PostgreSQL")
      const url = await newPostgresUrl()
      const { child, holders, finish } = await opened(context, row, url)
      const [holder] = holders(child)
      expect((await holder!.execute(named())).status).toBe(200)
      const release = await holding(url, statement)
      const waves = await Promise.all(
        Array.from({ length: 5 }, (_, i) => sleep(i * 500).then(() => holder!.execute(named()))),
      )
      // The lock is held all the while: each answer came because the wait for it is bounded.
      for (const answer of waves) expectRefused(answer, 503)
      expect(await untilNotReady(child)).toMatch(/locked/)
      await release()
      await untilReady(child)
      expect((await holder!.execute(named())).status).toBe(200)
      await finish(child)
    },
  )

  test(
    "another server stopped with the lock: not ready here, whether or not anybody asked here; then ready, and both go on",
    async context => {
      const row = faultRow(context, "another server stopped with the lock", "PostgreSQL")
      const url = await newPostgresUrl()
      const { start, memory, secrets, finish, child: frozen } = await opened(context, row, url)
      const idle = await start()
      await untilReady(idle)
      const load = startLoad([frozen.url], { memory, secrets, connections: 8, persistent: true })
      await until("it seals", () => load.acknowledged() > 16)
      const probe = postgres(url, { max: 1 })
      onTestFinished(() => probe.end())
      // Again and again, until it was stopped while it had the lock.
      await until("it is stopped with the lock", async () => {
        frozen.signal("SIGSTOP")
        await sleep(50)
        const free = await probe`select from log_head for update skip locked`
        if (free.length === 1) frozen.signal("SIGCONT")
        return free.length === 0
      })
      expect(await untilNotReady(idle)).toMatch(/locked/)
      await untilReady(idle, RELEASED_WITHIN_MS)
      const [holder] = holdersAt(idle.url, secrets)
      expect((await holder!.execute(named())).status).toBe(200)
      frozen.signal("SIGCONT")
      const thawed = load.acknowledged()
      await until("the server that was stopped goes on", () => load.acknowledged() >= thawed + 16)
      await load.stop()
      expect((await frozen.end("SIGTERM")).code).toBe(0)
      await finish(idle)
    },
    DEADLINE_MS,
  )

  test(
    "another server stopped with the lock in the middle of a statement: without a probe the others go on, and a new one starts",
    async context => {
      const row = faultRow(context, "another server stopped in the middle of a statement", "PostgreSQL")
      const url = await newPostgresUrl()
      const link = await openLink(url)
      onTestFinished(link.close)
      const deployment = await openDeployment(context, { kind: "PostgreSQL", row, url, serverUrl: link.url })
      const { start, memory, secrets, finish } = deployment
      const frozen = await start()
      const probe = postgres(url, { max: 1 })
      onTestFinished(() => probe.end())
      const load = startLoad([frozen.url], { memory, secrets, connections: 8, persistent: true })
      const thaw = await stopInStatement(frozen, link, probe)
      // What supervises a service starts it again and again.
      const startOther = (): Promise<Child | undefined> => start(["--database-url", url]).catch(() => undefined)
      const other = await until("a new server starts", startOther, RELEASED_WITHIN_MS)
      thaw()
      const thawed = load.acknowledged()
      await until("the server that was stopped goes on", () => load.acknowledged() >= thawed + 16)
      const thawAgain = await stopInStatement(frozen, link, probe)
      const [holder] = holdersAt(other.url, secrets)
      const sealed = async (): Promise<boolean> => (await holder!.execute(named())).status === 200
      await until("the other server seals", sealed, RELEASED_WITHIN_MS)
      thawAgain()
      await load.stop()
      expect((await frozen.end("SIGTERM")).code).toBe(0)
      await finish(other)
    },
    DEADLINE_MS,
  )

  test(
    "a head of another process that is damaged: refused, not ready, and ready again once it is removed",
    async context => {
      const row = faultRow(context, "damaged head: not ready", "PostgreSQL")
      const url = await newPostgresUrl()
      const { child, holders, finish, keysDir } = await opened(context, row, url)
      const [holder] = holders(child)
      expect((await holder!.execute(named())).status).toBe(200)
      const damaged = join(keysDir, "heads", "another")
      writeFileSync(damaged, "0000")
      // The heads are compared with the database on each new connection.
      const probe = postgres(url, { max: 1 })
      await probe`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`
      await probe.end()
      await until("the new connections are refused", async () => (await holder!.execute(named())).status === 503)
      for (let probes = 0; probes < 4; probes++) {
        expect(await untilNotReady(child)).toMatch(/head .* is damaged/)
        expectRefused(await holder!.execute(named()), 503)
        await sleep(1000)
      }
      rmSync(damaged)
      await untilReady(child)
      expect((await holder!.execute(named())).status).toBe(200)
      await finish(child)
    },
    DEADLINE_MS,
  )

  test(
    "a full disk under the database's tables: refused, not ready, and ready again once there is room",
    async context => {
      const row = faultRow(context, "full disk: not ready", "PostgreSQL")
      const disk = mountSmallDisk(DISK_MIB)
      if (typeof disk === "string") return context.skip(disk)
      onTestFinished(() => disk.unmount())
      const url = await inTablespace(disk)
      const { child, holders, finish } = await opened(context, row, url)
      const [holder] = holders(child)
      expect((await holder!.execute(named())).status).toBe(200)
      await untilReady(child)
      disk.fill()
      await until(
        "the disk is felt",
        async () => (await holder!.execute(named({ ai_output_text: "x".repeat(50_000) }))).status === 503,
      )
      expect(await untilNotReady(child)).toMatch(/disk/)
      disk.free()
      await untilReady(child)
      expect((await holder!.execute(named())).status).toBe(200)
      await finish(child)
    },
    DEADLINE_MS,
  )
})

const DISK_MIB = 48

/** A new database whose files are on a disk of their own; the write-ahead log is not. */
async function inTablespace(disk: SmallDisk): Promise<string> {
  const start = await startPostgresCluster()
  if (start.kind === "absent") throw new Error(start.reason)
  const { cluster } = start
  onTestFinished(() => cluster.stop())
  const name = "on_small_disk"
  const url = await cluster.createDatabase(name)
  // PostgreSQL wants a folder of its own user's.
  const folder = join(disk.folder, "tablespace")
  mkdirSync(folder)
  const { uid, gid } = statSync(`/proc/${cluster.pid()}`)
  chownSync(folder, uid, gid)
  const sql = postgres(cluster.url, { max: 1 })
  await sql.unsafe(`create tablespace small location '${folder}'`)
  await sql.unsafe(`alter database ${name} set tablespace small`)
  await sql.end()
  onTestFinished(async () => {
    const after = postgres(cluster.url, { max: 1 })
    await after.unsafe(`drop database ${name} with (force)`)
    await after.unsafe("drop tablespace small")
    await after.end()
  })
  return url
}
