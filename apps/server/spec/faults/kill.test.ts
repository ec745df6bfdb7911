/** kill -9 at drawn instants under load, and of a start that is still under way. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, type TestContext, test } from "vitest"
import { postgresStart, postgresTitle } from "../database/databases.ts"
import { killedStart } from "../harness/child.ts"
import { until } from "../harness/until.ts"
import { type Kind, openDeployment } from "./deployment.ts"
import { faultRow } from "./fault-row.ts"
import { startLoad } from "./load.ts"
import { drawn, ROUNDS, roundsOf } from "./rounds.ts"

const CONNECTIONS = 8
/** The kill falls at a drawn instant of this time under load. */
const LOAD_MS = 400
/** Every third round also kills a start at a drawn instant of this time. */
const START_MS = 1_200
const DEADLINE_MS = 300_000 + 15_000 * ROUNDS

async function killRepeatedly(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, "kill -9 under load", kind)
  const { start, check, finish, memory, secrets, options } = await openDeployment(context, { kind, row })
  let child = await start()
  for (let round = 0; round < roundsOf(0.5); round++) {
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
