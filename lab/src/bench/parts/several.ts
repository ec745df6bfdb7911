/** Several processes on one PostgreSQL, and the embedded database, each against one process on PostgreSQL. */

import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import type { Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import type { ServerProcess } from "../servers/measured-server.ts"
import {
  connectionSides,
  inRounds,
  inTurn,
  joined,
  loadSection,
  loads,
  lockNote,
  type Side,
  saturatedAndHalf,
  times,
} from "./loads.ts"

export const processes: Part = {
  name: "processes",
  about: "two and four processes on one PostgreSQL against one",
  run: async bench => (bench.database === undefined ? [] : measureProcesses(bench, bench.database)),
}

async function measureProcesses(bench: Bench, database: DatabaseServer): Promise<readonly Section[]> {
  const deployment = await openDeployment("processes", bench.plan.keys, database)
  const servers: ServerProcess[] = []
  for (const most = Math.max(...bench.plan.processes); servers.length < most; ) servers.push(await deployment.start())
  const { heat, usual } = loads(bench, deployment)
  bench.say("processes: heating")
  await heat(servers)
  const sides = bench.plan.processes.map(count => ({
    what: count === 1 ? "one process" : `${count} processes`,
    once: () => usual(servers.slice(0, count)),
  }))
  const rows = await inTurn(bench, sides)
  for (const server of servers) await server.stop()
  deployment.remove()
  const [one] = rows
  const compared = rows.map(row => {
    const beside = one === undefined || row === one ? "" : `${times(row, one)} one process`
    return { ...row, note: joined(beside, lockNote(row)) }
  })
  const title = `Processes on one PostgreSQL, ${USUAL_CONNECTIONS} connections shared out, ${inRounds(bench.plan)}`
  return [loadSection(title, compared)]
}

export const embedded: Part = {
  name: "embedded",
  about: "runs a second on the embedded database, against PostgreSQL",
  run: async bench => [await measureEmbedded(bench)],
}

async function measureEmbedded(bench: Bench): Promise<Section> {
  const deployment = await openDeployment("embedded", bench.plan.keys)
  const service = await deployment.start()
  const asked = loads(bench, deployment)
  bench.say("embedded database: heating")
  await asked.heat([service])
  const beside = await besidePostgres(bench, bench.database)
  const own = [...saturatedAndHalf(asked, service), ...connectionSides(bench, asked, service)]
  const [usual, ...others] = await inTurn(bench, [...own, ...beside.sides])
  await service.stop()
  deployment.remove()
  await beside.remove()
  const postgres = others[own.length - 1]
  if (usual === undefined) throw new Error("the embedded database is measured")
  const compared = postgres === undefined ? usual : { ...usual, note: `${times(usual, postgres)} PostgreSQL` }
  return loadSection(`POST /execute on the embedded database, ${inRounds(bench.plan)}`, [compared, ...others])
}

/** The usual load of the same service on PostgreSQL, where there is one. */
async function besidePostgres(
  bench: Bench,
  database: DatabaseServer | undefined,
): Promise<{ readonly sides: readonly Side[]; readonly remove: () => Promise<void> }> {
  if (database === undefined) return { sides: [], remove: async () => undefined }
  const deployment = await openDeployment("beside", bench.plan.keys, database)
  const service = await deployment.start()
  const { heat, usual } = loads(bench, deployment)
  await heat([service])
  return {
    sides: [{ what: `PostgreSQL, ${USUAL_CONNECTIONS} connections`, once: () => usual([service]) }],
    remove: async () => {
      await service.stop()
      deployment.remove()
    },
  }
}
