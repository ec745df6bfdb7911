/** kill -9 at drawn instants: under load, of a start, and of the first start, after which the next makes one deployment as if it were the first. */
import { existsSync, readdirSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, type TestContext, test } from "vitest"
import { postgresStart, postgresTitle, unmigratedPostgresUrl } from "../../../apps/server/spec/database/databases.ts"
import { killedStart } from "../../../apps/server/spec/harness/child.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { type Kind, openDeployment } from "./fault-deployment.ts"
import { startLoad } from "./fault-load.ts"
import { faultRow } from "./fault-row.ts"
import { drawn, ROUNDS, roundsOf, WHOLE } from "./rounds.ts"

const CONNECTIONS = 8
/** The kill falls at a drawn instant of this time under load. */
const LOAD_MS = 400
/** Every third round also kills a start at a drawn instant of this time. */
const START_MS = 1_200
/** A first start takes about so long on a machine that does nothing else. */
const FIRST_START_MS: Readonly<Record<Kind, number>> = { PGlite: 2_000, PostgreSQL: 1_500 }
const DEADLINE_MS = 300_000 + 15_000 * ROUNDS

async function killRepeatedly(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, "kill -9 under load", kind)
  const { start, check, finish, memory, secrets, options } = await openDeployment(context, {
    kind,
    row,
    allKeyed: true,
  })
  let child = await start()
  for (let round = 0; round < Math.max(2, roundsOf(0.5)); round++) {
    const load = startLoad([child.url], { memory, secrets, connections: CONNECTIONS, persistent: false })
    await until("the load begins", () => load.acknowledged() > 0)
    await sleep(LOAD_MS * drawn(`kill ${kind}`, round))
    await child.end("SIGKILL")
    await load.stop()
    row.rounds++
    row.acknowledged += load.acknowledged()
    row.unacknowledged += load.unacknowledged()
    if (round % 3 === 2) await killedStart(options, START_MS * drawn(`killed start ${kind}`, round))
    child = await start()
    await check(child)
  }
  await finish(child)
  expect(row.acknowledged, "there was something to lose in every round").toBeGreaterThanOrEqual(row.rounds)
}

describe("a server killed under load comes back by itself, with every acknowledged record and none half there", () => {
  test("on the embedded database", context => killRepeatedly(context, "PGlite"), DEADLINE_MS)
  test.skipIf(postgresStart.kind === "absent")(
    postgresTitle,
    context => killRepeatedly(context, "PostgreSQL"),
    DEADLINE_MS,
  )
})

async function killFirstStarts(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, "first start killed", kind)
  const { options, start, finish, keysDir, memory, secrets } = await openDeployment(context, {
    kind,
    row,
    ...(kind === "PostgreSQL" ? { url: await unmigratedPostgresUrl() } : {}),
  })
  for (; row.rounds < roundsOf(0.06); row.rounds++) {
    await killedStart(options, FIRST_START_MS[kind] * drawn(`first start ${kind}`, row.rounds))
    const keys = existsSync(keysDir) ? readdirSync(keysDir).filter(name => name === "signing-keys.json") : []
    expect(keys.length).toBeLessThanOrEqual(1)
  }
  const child = await start()
  expect((await child.get("/log/checkpoint")).text.split("\n")[1], "the log has its birth and the keys").toBe(
    `${1 + secrets.length}`,
  )
  await finish(child)
  row.acknowledged = memory.sent.length
}

describe("first starts that are killed leave nothing that the next one minds", () => {
  test.skipIf(!WHOLE)("on the embedded database", context => killFirstStarts(context, "PGlite"), DEADLINE_MS)
  test.skipIf(postgresStart.kind === "absent")(
    postgresTitle,
    context => killFirstStarts(context, "PostgreSQL"),
    DEADLINE_MS,
  )
})
