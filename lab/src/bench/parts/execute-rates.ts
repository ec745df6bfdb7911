/** `POST /execute` on PostgreSQL: an echo server as the ceiling and the service alternately, then other loads. */

import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { FULL, MINIMAL, MIXED, meanBytes } from "../bodies.ts"
import type { Measured } from "../measured-load.ts"
import { readable, type Section, sectionOf } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { ECHO, type ServerProcess, startServer } from "../servers/measured-server.ts"
import {
  connectionRows,
  halfLoadRow,
  inTurn,
  type LoadRow,
  type Loads,
  loadSection,
  loads,
  times,
  whichRound,
} from "./loads.ts"

const MEBIBYTE = 2 ** 20
const SERVICE = "the service"

export const execute: Part = {
  name: "execute",
  about: "runs a second on PostgreSQL, against the ceiling",
  run: async bench => (bench.database === undefined ? [] : measureExecute(bench, bench.database)),
}

async function measureExecute(bench: Bench, database: DatabaseServer): Promise<readonly Section[]> {
  const deployment = await openDeployment("execute", bench.plan.keys, database)
  const service = await deployment.start()
  const echo = await startServer(ECHO, [])
  const asked = loads(bench, deployment)
  bench.say("service and ceiling: heating")
  await asked.heat([service])
  await asked.heat([echo])
  const { one: ceiling, other: usual } = await inTurn(
    bench,
    "ceiling and service",
    () => asked.usual([echo]),
    () => asked.usual([service]),
  )
  await echo.stop()
  const shapes = [
    ...(await connectionRows(bench, asked, service, SERVICE)),
    await halfLoadRow(asked, service, SERVICE, usual),
    ...(await otherBodies(bench, asked, service, usual)),
  ]
  await service.stop()
  deployment.remove()
  const round = `${USUAL_CONNECTIONS} connections, ${whichRound(bench.plan)}`
  return [
    loadSection(`POST /execute on PostgreSQL, bodies of ${meanBytes(FULL)} bytes`, [
      { what: "the ceiling: Hono echoes the body", measured: ceiling, note: round },
      { what: SERVICE, measured: usual, note: `${round}; ${times(usual, ceiling)} the ceiling` },
      ...shapes,
    ]),
    costSection(usual),
  ]
}

/** Other bodies, and a long load. */
async function otherBodies(
  { plan, say }: Bench,
  { usual }: Loads,
  service: ServerProcess,
  saturated: Measured,
): Promise<readonly LoadRow[]> {
  say("other bodies")
  const mixed = await usual([service], { requests: MIXED })
  const least = await usual([service], { requests: MINIMAL })
  const rows: readonly LoadRow[] = [
    { what: `${SERVICE}, one run in ten refused`, measured: mixed },
    { what: `${SERVICE}, bodies of ${meanBytes(MINIMAL)} bytes`, measured: least },
  ]
  if (plan.sustainedSeconds === 0) return rows
  say(`${plan.sustainedSeconds} seconds without a pause`)
  const sustained = await usual([service], { seconds: plan.sustainedSeconds })
  const memory = `${readable(sustained.memory / MEBIBYTE)} MiB at the end, ${readable(saturated.memory / MEBIBYTE)} before`
  const note = `${times(sustained, saturated)} the short run; memory ${memory}`
  return [...rows, { what: `${SERVICE} for ${plan.sustainedSeconds} s`, measured: sustained, note }]
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
