/** Two processes on one PostgreSQL, and the embedded database, each against one process on PostgreSQL. */
import { FULL } from "../bodies.ts"
import { type Measured, measure } from "../measured-load.ts"
import { USUAL_CONNECTIONS } from "../plan.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { type Deployment, openDeployment } from "../servers/deployment.ts"
import type { ServerProcess } from "../servers/server-process.ts"
import type { Bench, Part } from "./bench.ts"
import { type LoadRow, loadSection, middleRound, times } from "./load-table.ts"

type Load = (servers: readonly ServerProcess[], connections?: number, perSecond?: number) => Promise<Measured>

const loadOf =
  ({ plan }: Bench, deployment: Deployment, seconds = plan.seconds): Load =>
  (servers, connections = USUAL_CONNECTIONS, perSecond) =>
    measure(
      servers,
      {
        requests: FULL,
        secrets: deployment.secrets(),
        connections,
        warmSeconds: plan.warmSeconds,
        seconds,
        ...(perSecond === undefined ? {} : { perSecond }),
      },
      deployment.lookAtDatabase,
    )

export const processes: Part = {
  name: "processes",
  about: "two processes on one PostgreSQL against one",
  run: async bench => (bench.database === undefined ? [] : [await measureProcesses(bench, bench.database)]),
}

async function measureProcesses(bench: Bench, database: DatabaseServer): Promise<ReturnType<typeof loadSection>> {
  const deployment = await openDeployment("processes", bench.plan.keys, database)
  const first = await deployment.start()
  const second = await deployment.start()
  const load = loadOf(bench, deployment)
  const heat = loadOf(bench, deployment, bench.plan.heatSeconds)
  bench.say("one and two processes: heating")
  await heat([first, second])
  const found: { readonly one: Measured[]; readonly two: Measured[] } = { one: [], two: [] }
  for (let round = 1; round <= bench.plan.rounds; round++) {
    bench.say(`one and two processes: round ${round}`)
    found.one.push(await load([first]))
    found.two.push(await load([first, second]))
  }
  await second.stop()
  await first.stop()
  deployment.remove()
  const [one, two] = [middleRound(found.one), middleRound(found.two)]
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

async function measureEmbedded(bench: Bench): Promise<ReturnType<typeof loadSection>> {
  const { plan, database, say } = bench
  const deployment = await openDeployment("embedded", plan.keys)
  const service = await deployment.start()
  const load = loadOf(bench, deployment)
  say("embedded database: heating")
  await loadOf(bench, deployment, plan.heatSeconds)([service])
  const other = database === undefined ? undefined : await openDeployment("beside", plan.keys, database)
  const beside = await other?.start()
  const found: { readonly embedded: Measured[]; readonly beside: Measured[] } = { embedded: [], beside: [] }
  if (other !== undefined && beside !== undefined) await loadOf(bench, other, plan.heatSeconds)([beside])
  for (let round = 1; round <= plan.rounds; round++) {
    say(`embedded database and PostgreSQL: round ${round}`)
    found.embedded.push(await load([service]))
    if (other !== undefined && beside !== undefined) found.beside.push(await loadOf(bench, other)([beside]))
  }
  await beside?.stop()
  const usual = middleRound(found.embedded)
  const rows: LoadRow[] = []
  for (const connections of plan.connections.filter(number => number !== USUAL_CONNECTIONS)) {
    say(`embedded database: ${connections} connections`)
    rows.push({
      what: `${connections} connection${connections === 1 ? "" : "s"}`,
      measured: await load([service], connections),
    })
  }
  const half = await load([service], USUAL_CONNECTIONS, usual.perSecond / 2)
  await service.stop()
  deployment.remove()
  other?.remove()
  const note =
    found.beside.length === 0 ? "" : `${times(usual, middleRound(found.beside))} PostgreSQL in the same round`
  return loadSection("POST /execute on the embedded database", [
    { what: `${USUAL_CONNECTIONS} connections`, measured: usual, note },
    ...rows,
    { what: "half load", measured: half, note: "open loop: latency from the instant a request was due" },
  ])
}
