/** `POST /execute` on PostgreSQL: an echo server as the ceiling and the service under several loads, in turn. */

import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { FULL, MINIMAL, MIXED, meanBytes } from "../bodies.ts"
import { type Row, readable, type Section, sectionOf } from "../page.ts"
import { readStored, readText } from "../reads-of-caller.ts"
import { type Deployment, openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { ECHO, type ServerProcess, startServer } from "../servers/measured-server.ts"
import {
  connectionSides,
  inRounds,
  inTurn,
  joined,
  type LoadRow,
  type Loads,
  loadSection,
  loads,
  lockRows,
  middle,
  range,
  saturatedAndHalf,
  times,
} from "./loads.ts"
import { measureTwo } from "./two-commits.ts"

const MEBIBYTE = 2 ** 20
/** Runs whose canonical texts are counted. */
const COUNTED_RUNS = 640

export const execute: Part = {
  name: "execute",
  about: "runs a second on PostgreSQL, against the ceiling",
  run: async bench => {
    const { database, against } = bench
    if (database === undefined) return []
    return against === undefined
      ? measureExecute(bench, database)
      : [await measureTwo(bench, { part: "execute", database, against, what: "POST /execute" })]
  },
}

async function measureExecute(bench: Bench, database: DatabaseServer): Promise<readonly Section[]> {
  const deployment = await openDeployment("execute", bench.plan.keys, database)
  const service = await deployment.start()
  const echo = await startServer(ECHO, [])
  const asked = loads(bench, deployment)
  bench.say("service and ceiling: heating")
  await asked.heat([service])
  await asked.heat([echo])
  const rows = await inTurn(bench, [
    {
      what: "the ceiling: Hono echoes the body",
      note: `${USUAL_CONNECTIONS} connections`,
      once: () => asked.usual([echo]),
    },
    ...saturatedAndHalf(asked, service),
    ...connectionSides(bench, asked, service),
    { what: "one run in ten refused", once: () => asked.usual([service], { requests: MIXED }) },
    { what: `bodies of ${meanBytes(MINIMAL)} bytes`, once: () => asked.usual([service], { requests: MINIMAL }) },
  ])
  await echo.stop()
  const [ceiling, usual] = rows
  if (ceiling === undefined || usual === undefined) throw new Error("the service is measured beside the ceiling")
  const long = await sustained(bench, asked, service, usual)
  await service.stop()
  deployment.remove()
  const title = `POST /execute on PostgreSQL, bodies of ${meanBytes(FULL)} bytes, ${inRounds(bench.plan)}`
  return [
    loadSection(
      title,
      rows.map(row => (row === usual ? { ...row, note: `${times(usual, ceiling)} the ceiling` } : row)).concat(long),
    ),
    sectionOf(`What one run costs, at ${USUAL_CONNECTIONS} connections on PostgreSQL`, [
      ...costRows(usual),
      ...(await countRows(bench, database)),
    ]),
  ]
}

/** A long load. */
async function sustained(
  { plan, say }: Bench,
  { usual }: Loads,
  service: ServerProcess,
  short: LoadRow,
): Promise<readonly LoadRow[]> {
  if (plan.sustainedSeconds === 0) return []
  say(`${plan.sustainedSeconds} seconds without a pause`)
  const { memory: before } = await service.look()
  const rounds = [await usual([service], { seconds: plan.sustainedSeconds })]
  const long = { what: `${plan.sustainedSeconds} s without a pause`, rounds }
  const memory = [middle(long, round => round.memory), before].map(bytes => readable(bytes / MEBIBYTE))
  const rate = `${readable(middle(long, ({ perSecond }) => perSecond) / middle(short, ({ perSecond }) => perSecond))} × the short load`
  return [{ ...long, note: `${rate}; memory ${memory[0]} MiB at the end, ${memory[1]} before` }]
}

function costRows(usual: LoadRow): readonly Row[] {
  const row = (what: string, of: Parameters<typeof range>[1], unit: string, note = ""): Row => ({
    what,
    value: middle(usual, of),
    unit,
    note: joined(range(usual, of), note),
  })
  const runsPerSync = 1 / middle(usual, ({ cost }) => cost.walSyncs)
  return [
    row("processor time of the service", ({ cost }) => cost.serverMicros, "µs", "all threads, user and system"),
    row("… of its main thread", ({ cost }) => cost.mainMicros, "µs"),
    row("… of its worker threads", ({ cost }) => cost.workerMicros, "µs", "which verify"),
    row(
      "… of the engine's own threads",
      ({ cost }) => cost.serverMicros - cost.mainMicros - cost.workerMicros,
      "µs",
      "compiling, collecting, files",
    ),
    row("processor time of the database", ({ cost }) => cost.databaseMicros, "µs", "all processes, user and system"),
    ...lockRows(usual, "runs"),
    row("write-ahead log", ({ cost }) => cost.walBytes, "bytes", "pg_stat_wal"),
    row("syncs of the write-ahead log", ({ cost }) => cost.walSyncs, "", `one in ${readable(runsPerSync)} runs`),
    row("growth of the database", ({ cost }) => cost.diskBytes, "bytes", "tables and indexes, as allocated"),
    row("event-loop delay of the service, p99", ({ loopDelayP99 }) => loopDelayP99, "ms"),
  ]
}

/** What does not depend on the machine: counted in a deployment of its own, since counting takes time. */
async function countRows(bench: Bench, database: DatabaseServer): Promise<readonly Row[]> {
  bench.say("canonical texts are counted")
  const deployment = await openDeployment("texts", bench.plan.keys, database)
  const service = await deployment.start("texts")
  const { cost, answers } = await loads(bench, deployment).usual([service], {
    requestsMax: COUNTED_RUNS,
    warmSeconds: 0,
    seconds: 60,
  })
  const record = await sizesOf(deployment, service)
  await service.stop()
  deployment.remove()
  const counted = `of ${answers} runs`
  return [
    {
      what: "canonical texts written on the main thread",
      value: cost.texts,
      unit: "",
      note: `${readable(cost.textBytes)} bytes; ${counted}`,
    },
    { what: "a record, as served", value: record.served, unit: "bytes", note: "of these" },
    { what: "… as stored", value: record.stored, unit: "bytes", note: `the mean ${counted}` },
  ]
}

async function sizesOf(
  { secrets, meanStored }: Deployment,
  { url }: ServerProcess,
): Promise<{ readonly served: number; readonly stored: number }> {
  const [secret = ""] = secrets()
  const [newest] = (await readStored(url, secret)).ids
  const text = await readText(url, `/runs/${newest}/artifacts`, secret)
  return { served: Buffer.byteLength(text), stored: (await meanStored?.()) ?? Number.NaN }
}
