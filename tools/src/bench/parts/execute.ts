/** `POST /execute` on PostgreSQL: the ceiling, the service, and the yardstick of one transaction a request, in turn. */
import { FULL, MINIMAL, MIXED, meanBytes } from "../bodies.ts"
import type { Measured } from "../measured-load.ts"
import { USUAL_CONNECTIONS } from "../plan.ts"
import { readable, type Section, sectionOf } from "../row.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { openDeployment } from "../servers/deployment.ts"
import { ECHO, type ServerProcess, startServer } from "../servers/server-process.ts"
import type { Bench, Part } from "./bench.ts"
import { type LoadRow, loadSection, middleRound, times } from "./load-table.ts"
import { bestLanes, inTurn, type Loads, loads, whichRound } from "./yardstick.ts"

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
  const what = "ceiling, service, one transaction a run"
  const [echoes = [], services = [], naives = []] = await inTurn(bench, asked, what, [echo, service, naive])
  await naive.stop()
  await echo.stop()
  const usual = middleRound(services)
  const shapes = await otherShapes(bench, asked, service, usual)
  await service.stop()
  deployment.remove()
  const [ceiling, yardstick] = [middleRound(echoes), middleRound(naives)]
  return [
    loadSection(`POST /execute on PostgreSQL, bodies of ${meanBytes(FULL)} bytes`, [
      {
        what: "the ceiling: Hono echoes the body",
        measured: ceiling,
        note: `${USUAL_CONNECTIONS} connections, ${whichRound(bench.plan)}`,
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
  const { serverMicros, mainMicros, workerMicros, databaseMicros = Number.NaN, walBytes = Number.NaN } = cost
  const engineMicros = serverMicros - mainMicros - workerMicros
  const { walSyncs = Number.NaN, diskBytes = Number.NaN } = cost
  return sectionOf("What one run costs, at 64 connections on PostgreSQL", [
    { what: "processor time of the service", value: serverMicros, unit: "µs", note: "all threads, user and system" },
    { what: "… of its main thread", value: mainMicros, unit: "µs", note: "" },
    { what: "… of its worker threads", value: workerMicros, unit: "µs", note: "which verify" },
    { what: "… of the engine's own threads", value: engineMicros, unit: "µs", note: "compiling, collecting, files" },
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
