/** Two processes on one PostgreSQL, and the embedded database, each against one process on PostgreSQL. */

import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import type { Measured } from "../measured-load.ts"
import type { Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import type { ServerProcess } from "../servers/measured-server.ts"
import { connectionRows, halfLoadRow, inTurn, type Loads, loadSection, loads, times } from "./loads.ts"

export const processes: Part = {
  name: "processes",
  about: "two processes on one PostgreSQL against one",
  run: async bench => (bench.database === undefined ? [] : [await measureProcesses(bench, bench.database)]),
}

async function measureProcesses(bench: Bench, database: DatabaseServer): Promise<Section> {
  const deployment = await openDeployment("processes", bench.plan.keys, database)
  const first = await deployment.start()
  const second = await deployment.start()
  const { heat, usual } = loads(bench, deployment)
  bench.say("one and two processes: heating")
  await heat([first, second])
  const measured = await inTurn(
    bench,
    "one and two processes",
    () => usual([first]),
    () => usual([first, second]),
  )
  await second.stop()
  await first.stop()
  deployment.remove()
  const { one, other: two } = measured
  return loadSection("Processes on one PostgreSQL", [
    { what: "one process", measured: one, note: `${USUAL_CONNECTIONS} connections` },
    { what: "two processes", measured: two, note: `the same connections, shared out; ${times(two, one)} one process` },
  ])
}

export const embedded: Part = {
  name: "embedded",
  about: "runs a second on the embedded database, against PostgreSQL",
  run: async bench => [await measureEmbedded(bench)],
}

const EMBEDDED = "embedded database"

async function measureEmbedded(bench: Bench): Promise<Section> {
  const deployment = await openDeployment("embedded", bench.plan.keys)
  const service = await deployment.start()
  const asked = loads(bench, deployment)
  bench.say(`${EMBEDDED}: heating`)
  await asked.heat([service])
  const { usual, note } = await besidePostgres(bench, bench.database, asked, service)
  const rows = [
    ...(await connectionRows(bench, asked, service, EMBEDDED)),
    await halfLoadRow(asked, service, EMBEDDED, usual),
  ]
  await service.stop()
  deployment.remove()
  return loadSection("POST /execute on the embedded database", [
    { what: `${EMBEDDED}, ${USUAL_CONNECTIONS} connections`, measured: usual, note },
    ...rows,
  ])
}

/** The usual load, in turn with the same service on PostgreSQL where there is one. */
async function besidePostgres(
  bench: Bench,
  database: DatabaseServer | undefined,
  { usual }: Loads,
  service: ServerProcess,
): Promise<{ readonly usual: Measured; readonly note: string }> {
  if (database === undefined) return { usual: await usual([service]), note: "one round" }
  const deployment = await openDeployment("beside", bench.plan.keys, database)
  const beside = await deployment.start()
  const other = loads(bench, deployment)
  await other.heat([beside])
  const measured = await inTurn(
    bench,
    "embedded database and PostgreSQL",
    () => usual([service]),
    () => other.usual([beside]),
  )
  await beside.stop()
  deployment.remove()
  return { usual: measured.one, note: `${times(measured.one, measured.other)} PostgreSQL in turn` }
}
