/** Two and three servers on one PostgreSQL: one is killed; the others go on. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, type TestContext, test } from "vitest"
import { postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { openDeployment } from "./fault-deployment.ts"
import { type Load, startLoad } from "./fault-load.ts"
import { type FaultRow, faultRow } from "./fault-row.ts"
import { drawn, roundsOf, WHOLE } from "./rounds.ts"

const CONNECTIONS = 4
const DEADLINE_MS = 600_000

function take(row: FaultRow, loads: readonly Load[]): void {
  for (const load of loads) {
    row.acknowledged += load.acknowledged()
    row.unacknowledged += load.unacknowledged()
  }
}

async function killOneOf(context: TestContext, count: number): Promise<void> {
  const fault = `one of ${count} servers killed`
  const row = faultRow(context, fault, "PostgreSQL")
  const { start, check, finish, memory, secrets } = await openDeployment(context, { kind: "PostgreSQL", row })
  const children = [await start()]
  while (children.length < count) children.push(await start())
  for (let round = 0; round < roundsOf(0.05); round++) {
    const victim = Math.floor(count * drawn(`${fault} victim`, round))
    const loads = children.map(({ url }, at) =>
      startLoad([url], { memory, secrets, connections: CONNECTIONS, persistent: at !== victim }),
    )
    await until("every server seals", () => loads.every(load => load.acknowledged() > 0))
    await sleep(400 * drawn(fault, round))
    await children[victim]!.end("SIGKILL")
    const others = loads.filter((_, at) => at !== victim)
    const before = others.map(load => load.acknowledged())
    await until("the others go on", () => others.every((load, at) => load.acknowledged() >= before[at]! + CONNECTIONS))
    await Promise.all(loads.map(load => load.stop()))
    take(row, loads)
    row.rounds++
    children[victim] = await start()
    // Whichever is asked, it is one log and one chain a caller.
    for (const child of children) await check(child)
  }
  const [last, ...rest] = children
  for (const child of rest) expect((await child.end("SIGTERM")).code).toBe(0)
  await finish(last!)
}

describe.skipIf(postgresStart.kind === "absent")(postgresTitle, () => {
  test("one of two servers killed: the other goes on", context => killOneOf(context, 2), DEADLINE_MS)
  test.skipIf(!WHOLE)("one of three servers killed: the others go on", context => killOneOf(context, 3), DEADLINE_MS)
})
