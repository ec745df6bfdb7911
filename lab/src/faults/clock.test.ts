/** The machine's clock is stepped, forwards and backwards, while the server runs and while it is stopped. */
import { execFile } from "node:child_process"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as v from "valibot"
import { expect, type TestContext, test } from "vitest"
import { postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { type Child, runToEnd } from "../../../apps/server/spec/harness/child.ts"
import { expectRefused } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type Kind, openDeployment } from "./fault-deployment.ts"
import { type Clients, holdersAt, nextRequest, REQUEST_KINDS, send, startLoad } from "./fault-load.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { WHOLE } from "./rounds.ts"
import { PAUSED, steppedClock } from "./stepped-clock.ts"

const DEADLINE_MS = 600_000
const SECOND = 1000
const HOUR = 3600 * SECOND

async function expectSealing(child: Child, clients: Clients, row: FaultRow): Promise<void> {
  const load = startLoad([child.url], { ...clients, connections: 4, persistent: true })
  await until("runs are sealed", () => load.acknowledged() >= 12)
  await load.stop()
  expect(load.unacknowledged(), "requests of every kind are sealed").toBe(0)
  row.rounds++
  row.acknowledged += load.acknowledged()
  row.unacknowledged += load.unacknowledged()
}

/** Nothing is sealed by such a clock, and the answer names the clock; reads are served. */
async function expectPaused({ url }: Child, clients: Clients, row: FaultRow): Promise<void> {
  const [holder] = holdersAt(url, clients.secrets)
  for (let kinds = 0; kinds < REQUEST_KINDS; kinds++) {
    const sent = nextRequest(clients)
    await send(sent, url, clients)
    expect(sent.acknowledged).toBeUndefined()
    row.unacknowledged++
  }
  expect(expectRefused(await holder!.post("/execute", request()), 503)).toMatch(/^The clock of the service/)
  expect(expectRefused(await holder!.get("/ready"), 503)).toMatch(PAUSED)
  expect((await holder!.get("/runs?limit=1")).status).toBe(200)
  expect((await holder!.get("/health")).status).toBe(200)
  row.rounds++
}

async function stepClock(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, "clock stepped", kind)
  const clock = steppedClock(context)
  const deployment = await openDeployment(context, { kind, row })
  const { check, finish, options } = deployment
  const start = (): Promise<Child> => deployment.start([], clock.env)
  let child = await start()
  const restart = async (): Promise<void> => {
    await child.end("SIGKILL")
    child = await start()
  }
  /** The embedded database is one process's: the service is stopped for the command. */
  const confirm = async (): Promise<void> => {
    if (kind === "PGlite") await child.end("SIGTERM")
    const { code, stdout, stderr } = await runToEnd([...options, "clock", "confirm", "--json"], clock.env)
    expect(code, stdout + stderr).toBe(0)
    if (kind === "PGlite") child = await start()
  }
  const untilReady = (): Promise<unknown> =>
    until("the server is ready", async () => (await child.get("/ready")).status === 200)
  await expectSealing(child, deployment, row)
  await clock.shift(30 * SECOND, child)
  await expectSealing(child, deployment, row)
  await clock.shift(0, child)
  await expectSealing(child, deployment, row)
  await check(child)

  // A clock that was far ahead while nothing was sealed by it, and is right again, leaves no trace.
  await clock.shift(HOUR, child, "paused")
  await expectPaused(child, deployment, row)
  await clock.shift(0, child)
  await expectSealing(child, deployment, row)

  // One that is confirmed wrongly.
  await clock.shift(HOUR, child, "paused")
  await confirm()
  await untilReady()
  await expectSealing(child, deployment, row)
  await clock.shift(0, child, "paused")
  await expectPaused(child, deployment, row)
  await restart()
  await expectPaused(child, deployment, row)

  // The way out: the log's clock goes on from the log's time. A confirmation of another time is none.
  if (kind === "PostgreSQL") {
    await clock.shift(-600 * SECOND, child, "paused")
    await runToEnd([...options, "clock", "confirm"], { ...clock.env, FAULT_CLOCK_FILE: clock.elsewhere(-HOUR) })
    await setTimeout(2 * SWEEP_MS)
    await expectPaused(child, deployment, row)
    await clock.shift(0, child, "paused")
  }
  await confirm()
  await untilReady()
  await expectSealing(child, deployment, row)
  await check(child)
  await restart()
  await expectSealing(child, deployment, row)
  await expectConfirmed(child, deployment)

  await clock.shift(32 * 24 * HOUR, child, "paused")
  await restart()
  await expectPaused(child, deployment, row)
  await confirm()
  await untilReady()
  await expectSealing(child, deployment, row)
  await finish(child)
}

/** How often a server checks for a confirmation. */
const SWEEP_MS = 5 * SECOND

const CONFIRMED = v.object({
  sealed: v.unknown(),
  after: v.object({ machine_clock: v.string(), log_clock: v.string() }),
})

/** The newest confirmation is sealed with both times, and the service goes by the log's. */
async function expectConfirmed({ url }: Child, clients: Clients): Promise<void> {
  const [holder] = holdersAt(url, clients.secrets)
  const { body } = await holder!.get("/admin/audit?action=clock.confirm&limit=1")
  const [event] = v.parse(v.object({ events: v.array(CONFIRMED) }), body).events
  const { machine_clock, log_clock } = event!.after
  expect(Date.parse(log_clock) - Date.parse(machine_clock)).toBeGreaterThan(HOUR / 2)
  const { time } = v.parse(v.object({ time: v.string() }), (await holder!.get("/health")).body)
  expect(Date.parse(time)).toBeGreaterThanOrEqual(Date.parse(log_clock))
}

test(
  "a timer that PostgreSQL set before a step back of weeks is waited for, also where it is longer than Node's",
  async context => {
    const row = faultRow(context, "clock stepped back by weeks", "PGlite")
    const program = fileURLToPath(new URL("./stepped-database.ts", import.meta.url))
    const { env } = steppedClock(context)
    const { stderr } = await promisify(execFile)(process.execPath, [program], { env: { ...process.env, ...env } })
    // Node warns there of each timer that it fires at once because it is too long.
    expect(stderr).toBe("")
    row.rounds++
  },
  DEADLINE_MS,
)

test.skipIf(!WHOLE)("on the embedded database", context => stepClock(context, "PGlite"), DEADLINE_MS)
test.skipIf(postgresStart.kind === "absent")(postgresTitle, context => stepClock(context, "PostgreSQL"), DEADLINE_MS)
