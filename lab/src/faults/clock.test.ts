/** The machine's clock is stepped, forwards and backwards, while the server runs and while it is stopped. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, type TestContext, test } from "vitest"
import { postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import type { Child } from "../../../apps/server/spec/harness/child.ts"
import { expectRefused } from "../../../apps/server/spec/harness/read-answer.ts"
import { request } from "../../../apps/server/spec/harness/sample-requests.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type Deployment, type Kind, openDeployment } from "./fault-deployment.ts"
import { type Clients, holdersAt, nextRequest, REQUEST_KINDS, send, startLoad } from "./fault-load.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { WHOLE } from "./rounds.ts"
import { PAUSED, type SteppedClock, steppedClock } from "./stepped-clock.ts"

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

/** Nothing is sealed while the clock is behind the log's time; reads are served. */
async function expectPaused({ url }: Child, clients: Clients, row: FaultRow): Promise<void> {
  const [holder] = holdersAt(url, clients.secrets)
  for (let kinds = 0; kinds < REQUEST_KINDS; kinds++) {
    const sent = nextRequest(clients)
    await send(sent, url, clients)
    expect(sent.acknowledged).toBeUndefined()
    row.unacknowledged++
  }
  expect(expectRefused(await holder!.get("/ready"), 503)).toMatch(PAUSED)
  expect((await holder!.get("/runs?limit=1")).status).toBe(200)
  expect((await holder!.get("/health")).status).toBe(200)
  row.rounds++
}

async function stepClock(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, "clock stepped", kind)
  const clock = steppedClock(context)
  const deployment = await openDeployment(context, { kind, row })
  const { check, finish } = deployment
  const start = (): Promise<Child> => deployment.start([], clock.env)
  let child = await start()
  await expectSealing(child, deployment, row)
  await clock.shift(30 * SECOND, child)
  await expectSealing(child, deployment, row)
  await clock.shift(0, child)
  await expectSealing(child, deployment, row)
  await check(child)

  await clock.shift(HOUR, child)
  await expectSealing(child, deployment, row)
  await clock.shift(0, child, "paused")
  await expectPaused(child, deployment, row)
  child = await restart(child, start)
  await expectPaused(child, deployment, row)
  await clock.shift(HOUR + 10 * SECOND, child)
  await expectSealing(child, deployment, row)
  await check(child)

  await stepOnlyRehearsed(child, deployment, clock, row)
  await check(child)
  await finish(child)
}

/** A clock that was far ahead while nothing was sealed, and is right again, leaves no trace. */
async function stepOnlyRehearsed(child: Child, clients: Deployment, clock: SteppedClock, row: FaultRow): Promise<void> {
  const [holder] = holdersAt(child.url, clients.secrets)
  await clock.shift(3 * HOUR, child)
  expect((await holder!.post("/execute/verify-determinism", request())).status).toBe(200)
  await clock.shift(HOUR + 20 * SECOND, child)
  await expectSealing(child, clients, row)
}

async function restart(child: Child, start: () => Promise<Child>): Promise<Child> {
  await child.end("SIGKILL")
  return start()
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
