/** `POST /execute` on PostgreSQL: the ceiling, the service, and the yardstick of one transaction a request, in turn. */
import { FULL, MINIMAL, MIXED, meanBytes } from "../bodies.ts"
import { type Measured, measure } from "../measured-load.ts"
import { USUAL_CONNECTIONS } from "../plan.ts"
import { readable, type Section, sectionOf } from "../row.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { type Deployment, openDeployment } from "../servers/deployment.ts"
import { ECHO, type ServerProcess, startServer } from "../servers/server-process.ts"
import type { Bench, Part } from "./bench.ts"
import { type LoadRow, loadSection, middleRound, times } from "./load-table.ts"

const MEBIBYTE = 2 ** 20

export const execute: Part = {
  name: "execute",
  about: "runs a second on PostgreSQL, against the ceiling and against one transaction a run",
  run: async bench => (bench.database === undefined ? [] : measureExecute(bench, bench.database)),
}

async function measureExecute(bench: Bench, database: DatabaseServer): Promise<readonly Section[]> {
  const deployment = await openDeployment("execute", bench.plan.keys, database)
  const service = await deployment.start()
  const echo = await startServer(ECHO, [])
  const asked = loads(bench, deployment)
  bench.say("service and ceiling: heating")
  await asked.heat(service)
  await asked.heat(echo)
  const lanes = await bestLanes(bench, deployment)
  const naive = await deployment.startNaive(lanes)
  await asked.heat(naive)
  const found = await inTurn(bench, asked, { echo, service, naive })
  await naive.stop()
  await echo.stop()
  const usual = middleRound(found.service)
  const shapes = await otherShapes(bench, asked, service, usual)
  await service.stop()
  deployment.remove()
  const [ceiling, yardstick] = [middleRound(found.echo), middleRound(found.naive)]
  const rounds = bench.plan.rounds === 1 ? "one round" : `the middle one of ${bench.plan.rounds} rounds in turn`
  return [
    loadSection(`POST /execute on PostgreSQL, bodies of ${meanBytes(FULL)} bytes`, [
      {
        what: "the ceiling: Hono echoes the body",
        measured: ceiling,
        note: `${USUAL_CONNECTIONS} connections, ${rounds}`,
      },
      {
        what: "one transaction a run",
        measured: yardstick,
        note: `the same round; ${lanes} open at once, its best of ${bench.plan.lanes.join(", ")}`,
      },
      {
        what: "the service",
        measured: usual,
        note: `the same round; ${times(usual, ceiling)} the ceiling, ${times(usual, yardstick)} one transaction a run`,
      },
      ...shapes,
    ]),
    costSection(usual),
  ]
}

type Loads = {
  readonly heat: (server: ServerProcess) => Promise<unknown>
  readonly usual: (server: ServerProcess, changes?: Partial<Parameters<typeof measure>[1]>) => Promise<Measured>
}

const loads = ({ plan }: Bench, deployment: Deployment): Loads => {
  const job = {
    requests: FULL,
    secrets: deployment.secrets(),
    connections: USUAL_CONNECTIONS,
    warmSeconds: plan.warmSeconds,
    seconds: plan.seconds,
  }
  return {
    heat: server => measure([server], { ...job, warmSeconds: 0, seconds: plan.heatSeconds }),
    usual: (server, changes = {}) => measure([server], { ...job, ...changes }, deployment.lookAtDatabase),
  }
}

/** How many transactions the yardstick has open when it is fastest. */
async function bestLanes(bench: Bench, deployment: Deployment): Promise<number> {
  const tried: { readonly lanes: number; readonly perSecond: number }[] = []
  for (const lanes of bench.plan.lanes) {
    bench.say(`one transaction a run, ${lanes} at once`)
    const naive = await deployment.startNaive(lanes)
    const { usual } = loads(bench, deployment)
    const { perSecond } = await usual(naive, {
      warmSeconds: bench.plan.heatSeconds / 2,
      seconds: bench.plan.seconds / 2,
    })
    tried.push({ lanes, perSecond })
    await naive.stop()
  }
  return tried.sort((a, b) => b.perSecond - a.perSecond)[0]?.lanes ?? 1
}

type Candidate = "echo" | "service" | "naive"

/** Rounds in turn, so that a machine whose speed drifts treats all alike. */
async function inTurn(
  bench: Bench,
  { usual }: Loads,
  servers: Readonly<Record<Candidate, ServerProcess>>,
): Promise<Readonly<Record<Candidate, readonly Measured[]>>> {
  const found: Record<Candidate, Measured[]> = { echo: [], service: [], naive: [] }
  for (let round = 1; round <= bench.plan.rounds; round++) {
    bench.say(`ceiling, service, one transaction a run: round ${round}`)
    found.echo.push(await usual(servers.echo))
    found.service.push(await usual(servers.service))
    found.naive.push(await usual(servers.naive))
  }
  return found
}

/** Other numbers of connections, other bodies, half load, a long load. */
async function otherShapes(
  { plan, say }: Bench,
  { usual }: Loads,
  service: ServerProcess,
  saturated: Measured,
): Promise<readonly LoadRow[]> {
  const rows: LoadRow[] = []
  for (const connections of plan.connections.filter(number => number !== USUAL_CONNECTIONS)) {
    say(`${connections} connections`)
    const measured = await usual(service, { connections })
    rows.push({ what: `the service, ${connections} connection${connections === 1 ? "" : "s"}`, measured })
  }
  say("half load, other bodies")
  const half = await usual(service, { perSecond: saturated.perSecond / 2 })
  rows.push({
    what: "the service at half load",
    measured: half,
    note: "open loop: latency from the instant a request was due",
  })
  rows.push({ what: "the service, one run in ten refused", measured: await usual(service, { requests: MIXED }) })
  const least = await usual(service, { requests: MINIMAL })
  rows.push({ what: `the service, bodies of ${meanBytes(MINIMAL)} bytes`, measured: least })
  if (plan.sustainedSeconds === 0) return rows
  say(`${plan.sustainedSeconds} seconds without a pause`)
  const sustained = await usual(service, { seconds: plan.sustainedSeconds })
  const memory = `${readable(sustained.memory / MEBIBYTE)} MiB at the end, ${readable(saturated.memory / MEBIBYTE)} before`
  const note = `${times(sustained, saturated)} the short run; memory ${memory}`
  return [...rows, { what: `the service for ${plan.sustainedSeconds} s`, measured: sustained, note }]
}

function costSection({ cost, loopDelayP99 }: Measured): Section {
  const { serverMicros, databaseMicros = Number.NaN, walBytes = Number.NaN } = cost
  const { walSyncs = Number.NaN, diskBytes = Number.NaN } = cost
  return sectionOf("What one run costs, at 64 connections on PostgreSQL", [
    { what: "processor time of the service", value: serverMicros, unit: "µs", note: "all threads, user and system" },
    {
      what: "processor time of the database",
      value: databaseMicros,
      unit: "µs",
      note: "all processes, user and system",
    },
    { what: "write-ahead log", value: walBytes, unit: "bytes", note: "pg_stat_wal" },
    { what: "syncs of the write-ahead log", value: walSyncs, unit: "", note: `one in ${readable(1 / walSyncs)} runs` },
    { what: "growth of the database", value: diskBytes, unit: "bytes", note: "tables and indexes, as allocated" },
    { what: "event-loop delay of the service, p99", value: loopDelayP99, unit: "ms", note: "at saturation" },
  ])
}
