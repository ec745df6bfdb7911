/** The usual load on this checkout and on another commit, in turn. */
import { type Bench, USUAL_CONNECTIONS } from "../bench-plan.ts"
import type { Measured } from "../measured-load.ts"
import { median, readable, type Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import type { OtherCommit } from "../servers/other-commit.ts"
import { inTurn, type LoadRow, type Loads, loads, middle, range } from "./loads.ts"

type Changes = Parameters<Loads["usual"]>[1]

/** Processor time of the service for one answer, in P-256 verifications of the same round. */
const verificationsEach = ({ cost, verificationMicros }: Measured): number => cost.serverMicros / verificationMicros

/**
 * @param part its name, which names the databases
 * @param load what it says of the load
 * @param changesOf the changes of the usual load, made anew for each load: one may have requests that are sent once
 */
export async function measureTwo(
  bench: Bench,
  {
    part,
    database,
    against,
    what,
    load = `${USUAL_CONNECTIONS} connections`,
    changesOf = () => ({}),
  }: {
    readonly part: string
    readonly database: DatabaseServer
    readonly against: OtherCommit
    readonly what: string
    readonly load?: string
    readonly changesOf?: () => Changes
  },
): Promise<Section> {
  const programs = [
    { name: against.name, root: against.root },
    { name: "this checkout", root: undefined },
  ]
  const opened = await Promise.all(
    programs.map(async ({ name, root }, at) => {
      const deployment = await openDeployment(`${part}${at}`, bench.plan.keys, database, root)
      const server = await deployment.start()
      const { heat, usual } = loads(bench, deployment)
      return { name, deployment, server, heat, usual }
    }),
  )
  for (const { name, heat, server } of opened) {
    bench.say(`${name}: heating`)
    await heat([server], changesOf())
  }
  const plan = { ...bench.plan, rounds: bench.plan.startRounds }
  const sides = opened.map(({ name, usual, server }) => ({ what: name, once: () => usual([server], changesOf()) }))
  const rows = await inTurn({ plan, say: bench.say }, sides)
  for (const { server, deployment } of opened) {
    await server.stop()
    deployment.remove()
  }
  return {
    title: `${what} on PostgreSQL, ${load}, two commits, ${plan.rounds} rounds in turn: medians (ranges)`,
    columns: ["what", "a second", "p50 ms", "p99 ms", "service, P-256 each", "× the first", "lock µs each"],
    rows: rows.map(row => [
      row.what,
      spread(row, ({ perSecond }) => perSecond),
      spread(row, ({ p50 }) => p50),
      spread(row, ({ p99 }) => p99),
      spread(row, verificationsEach),
      readable(median(row.rounds.map((round, at) => ratio(round, rows[0]?.rounds[at])))),
      spread(row, ({ cost }) => cost.lockMicros),
    ]),
  }
}

const ratio = (one: Measured, other: Measured | undefined): number =>
  other === undefined ? Number.NaN : verificationsEach(one) / verificationsEach(other)

const spread = (row: LoadRow, of: (round: Measured) => number): string => {
  const around = range(row, of)
  return around === "" ? readable(middle(row, of)) : `${readable(middle(row, of))} (${around})`
}
