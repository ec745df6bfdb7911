/** First starts that are killed at drawn instants: the next one makes one deployment, as if it were the first. */
import { existsSync, readdirSync } from "node:fs"
import { expect, type TestContext, test } from "vitest"
import { postgresStart, postgresTitle, unmigratedPostgresUrl } from "../database/databases.ts"
import { killedStart } from "../harness/child.ts"
import { type Kind, openDeployment } from "./deployment.ts"
import { faultRow } from "./fault-row.ts"
import { drawn, roundsOf, WHOLE } from "./rounds.ts"

/** A first start takes about so long on a machine that does nothing else. */
const FIRST_START_MS: Readonly<Record<Kind, number>> = { PGlite: 4_000, PostgreSQL: 1_500 }
const DEADLINE_MS = 600_000

async function killFirstStarts(context: TestContext, kind: Kind): Promise<void> {
  const row = faultRow(context, "first start killed", kind)
  const { options, start, finish, keysDir, memory } = await openDeployment(context, {
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
  expect((await child.get("/log/checkpoint")).text.split("\n")[1], "the log has its birth and nothing else").toBe("1")
  await finish(child)
  row.acknowledged = memory.sent.length
}

test.skipIf(!WHOLE)("on the embedded database", context => killFirstStarts(context, "PGlite"), DEADLINE_MS)
test.skipIf(postgresStart.kind === "absent")(
  postgresTitle,
  context => killFirstStarts(context, "PostgreSQL"),
  DEADLINE_MS,
)
