/**
 * PostgreSQL whose commits wait for a synchronous standby, and the standbys gone: bounded refusals, nothing acknowledged that a
 * failover would lose, and the service goes on by itself when one is back.
 */

import { setTimeout as sleep } from "node:timers/promises"
import { type PostgresCluster, type PostgresStandby, startPostgresCluster } from "@runseal/server/postgres-cluster"
import postgres from "postgres"
import { afterAll, describe, expect, type TestContext, test } from "vitest"
import type { Child } from "../../../apps/server/spec/harness/child.ts"
import type { Answer } from "../../../apps/server/spec/harness/read-answer.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type Deployment, openDeployment } from "./fault-deployment.ts"
import { nextRequest, send, startLoad } from "./fault-load.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { WHOLE } from "./rounds.ts"

const DEADLINE_MS = 600_000
const CONNECTIONS = 8
/** Longest a request may take to be refused: four times what the service allows, for a machine that is slow. */
const REFUSED_WITHIN_MS = 40_000
/** Shorter than the service waits for a lock. */
const LOCKED_MS = 6000
/** What this machine may add to the time of one refusal. */
const SLOWNESS_MS = 700

const POLICY = {
  policy_id: "open",
  policy_name: "open",
  required_attested_fields: [],
  rules: [{ id: "permit-all", effect: "allow" }],
}

const started = await startPostgresCluster()
const standbys: PostgresStandby[] = []
let databases = 0

afterAll(async () => {
  if (started.kind === "started") await started.cluster.stop()
})

const clusterHere = (): PostgresCluster => {
  if (started.kind === "absent") throw new Error(started.reason)
  return started.cluster
}

async function onPrimary<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(clusterHere().url, { max: 1, onnotice: () => {} })
  return work(sql).finally(() => sql.end())
}

async function awaitStandbys(names: string): Promise<void> {
  await onPrimary(async sql => {
    await sql.unsafe(`alter system set synchronous_standby_names = '${names}'`)
    await sql`select pg_reload_conf()`
  })
}

const streaming = (): Promise<number> =>
  onPrimary(async sql => (await sql`select from pg_stat_replication where state = 'streaming'`).length)

/** A deployment on a primary that waits for any one of two standbys. */
async function openReplicated(context: TestContext, row: FaultRow): Promise<Deployment & { readonly url: string }> {
  const cluster = clusterHere()
  while (standbys.length < 2) standbys.push(await cluster.addStandby(`standby_${standbys.length}`))
  await until("both standbys stream", async () => (await streaming()) === 2)
  const url = await cluster.createDatabase(`replicated_${++databases}`)
  await awaitStandbys("ANY 1 (standby_0, standby_1)")
  context.onTestFinished(async () => {
    await awaitStandbys("")
    await Promise.all(standbys.map(standby => standby.crash().then(standby.start)))
  })
  return { ...(await openDeployment(context, { kind: "PostgreSQL", row, url })), url }
}

const crashStandbys = (): Promise<unknown> => Promise.all(standbys.map(standby => standby.crash()))
const startStandbys = (): Promise<unknown> => Promise.all(standbys.map(standby => standby.start()))

type Timed = { readonly answer: Answer | undefined; readonly ms: number }

async function timed(work: () => Promise<Answer | undefined>): Promise<Timed> {
  const since = performance.now()
  const answer = await work()
  return { answer, ms: performance.now() - since }
}

const readyStatus = async (child: Child): Promise<number> => (await child.get("/ready")).status

const waitingCommits = (): Promise<readonly number[]> =>
  onPrimary(async sql =>
    (await sql<{ pid: number }[]>`select pid from pg_stat_activity where wait_event = 'SyncRep'`).map(({ pid }) => pid),
  )

describe.skipIf(started.kind === "absent")("synchronous replication", () => {
  test(
    "both standbys gone: refused in time, not ready, nothing acknowledged; back: once or not at all",
    async context => {
      const row = faultRow(context, "synchronous standbys gone", "PostgreSQL")
      const { start, check, finish, memory, secrets, holders } = await openReplicated(context, row)
      const child = await start()
      const clients = { memory, secrets }
      const load = startLoad([child.url], { ...clients, connections: CONNECTIONS, persistent: true })
      await until("the load begins", () => load.acknowledged() > 2 * CONNECTIONS)
      await crashStandbys()
      await until("the loss is felt", () => load.unacknowledged() > 0)
      await load.stop()
      await until("it is not ready", async () => (await readyStatus(child)) === 503)

      const [admin] = holders(child)
      const asked = [
        ...Array.from({ length: 12 }, () => () => send(nextRequest(clients), child.url, clients)),
        () => admin!.post("/admin/keys", { name: "late" }),
        () => admin!.post("/admin/runs/1/publish"),
        () => admin!.execute({}).then(() => undefined),
      ]
      for (const wave of [asked, asked]) {
        const answers = await Promise.all(wave.map(timed))
        for (const { answer, ms } of answers) {
          if (answer !== undefined) expect(answer.status, answer.text).toBe(503)
          expect(ms).toBeLessThan(REFUSED_WITHIN_MS)
        }
        expect(await readyStatus(child)).toBe(503)
      }
      expect((await child.get("/health")).status).toBe(200)
      expect((await admin!.get("/runs")).status, "reads go on").toBe(200)
      // However often it was asked, what waits in the database is bounded.
      expect((await waitingCommits()).length).toBeLessThan(10)

      await startStandbys()
      await until("it is ready again, with no request in between", async () => (await readyStatus(child)) === 200)
      row.acknowledged += load.acknowledged()
      row.unacknowledged += load.unacknowledged()
      await check(child)
      await finish(child)
    },
    DEADLINE_MS,
  )

  test(
    "a batch that waits for a lock and then for its COMMIT, each shorter than its own bound: refused within 10 s",
    async context => {
      const row = faultRow(context, "a lock, then no standby", "PostgreSQL")
      const { url, start, check, finish, memory, secrets } = await openReplicated(context, row)
      const child = await start()
      const clients = { memory, secrets }
      await until("it seals", async () => (await send(nextRequest(clients), child.url, clients))?.status === 200)
      const other = postgres(url, { max: 1, onnotice: () => {} })
      const { answer, ms } = await other
        .begin(async tx => {
          // So that the lock is released although no standby is left.
          await tx`set local synchronous_commit = off`
          await tx`select from log_head for update`
          const answering = timed(() => send(nextRequest(clients, "/attest"), child.url, clients))
          await sleep(LOCKED_MS)
          await crashStandbys()
          return { answering }
        })
        .then(({ answering }) => answering)
        .finally(() => other.end())
      expect(answer).toMatchObject({ status: 503, body: { code: "outcome_unknown" } })
      expect(ms).toBeGreaterThan(LOCKED_MS)
      expect(ms).toBeLessThan(10_000 + SLOWNESS_MS)
      await startStandbys()
      await until("it is ready again", async () => (await readyStatus(child)) === 200)
      await check(child)
      await finish(child)
    },
    DEADLINE_MS,
  )

  test(
    "a policy whose COMMIT no standby has: not acknowledged by another server either, before a standby has it",
    async context => {
      const row = faultRow(context, "policy, no standby", "PostgreSQL")
      const { start, finish, holders } = await openReplicated(context, row)
      const child = await start()
      const other = await start()
      const load = (server: Child): Promise<Answer> => holders(server)[0]!.post("/admin/policies", { policy: POLICY })
      await crashStandbys()
      const answering = load(child)
      let answer: Answer | undefined
      void answering.then(got => {
        answer = got
      })
      await until("the request is answered", async () => {
        for (const pid of await waitingCommits()) await onPrimary(sql => sql`select pg_cancel_backend(${pid})`)
        return answer
      })
      expect(answer).toMatchObject({ status: 503, body: { code: "outcome_unknown" } })
      expect(await load(other)).toMatchObject({ status: 503 })
      await startStandbys()
      await until("it is ready again", async () => (await readyStatus(other)) === 200)
      expect(await load(other)).toMatchObject({ status: 200, body: { changed: false } })
      expect((await child.end("SIGTERM")).code).toBe(0)
      await finish(other)
    },
    DEADLINE_MS,
  )

  // Each request and each end of a wait; both with both in `npm run faults`.
  const ENDED_WAITS = [
    ["/attest", "pg_terminate_backend"],
    ["/execute", "pg_cancel_backend"],
    ...(WHOLE ? ([["/attest", "pg_cancel_backend"]] as const) : []),
  ] as const
  test.for(ENDED_WAITS)(
    "a COMMIT of %s whose wait is ended by %s: not acknowledged, nor under its key again, before a standby has it",
    { timeout: DEADLINE_MS },
    async ([path, ended], context) => {
      const row = faultRow(context, `wait for the standby ended: ${ended}`, "PostgreSQL")
      const { start, check, finish, memory, secrets } = await openReplicated(context, row)
      const child = await start()
      const clients = { memory, secrets }
      await until("it seals", async () => (await send(nextRequest(clients), child.url, clients))?.status === 200)
      await crashStandbys()

      const sent = nextRequest(clients, path)
      let answer: Answer | undefined
      const answering = send(sent, child.url, clients).then(got => {
        answer = got
      })
      await until("the request is answered", async () => {
        for (const pid of await waitingCommits()) await onPrimary(sql => sql.unsafe(`select ${ended}(${pid})`))
        return answer
      })
      await answering
      expect(answer, "the wait was ended").toMatchObject({ status: 503 })
      // What was committed can be read on the primary now; a failover would lose it.
      for (let again = 0; again < 3; again++) {
        const { answer: repeated, ms } = await timed(() => send(sent, child.url, clients))
        expect(repeated).toMatchObject({ status: 503 })
        expect(ms).toBeLessThan(REFUSED_WITHIN_MS)
      }
      expect(await readyStatus(child)).toBe(503)

      await startStandbys()
      await until("it is ready again", async () => (await readyStatus(child)) === 200)
      await check(child)
      await finish(child)
    },
  )
})
