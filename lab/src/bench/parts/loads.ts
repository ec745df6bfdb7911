/** Shared by all measurements of writes: the usual load, rounds in turn, tables of medians and ranges. */

import { type Bench, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { FULL } from "../bodies.ts"
import { type Measured, measure } from "../measured-load.ts"
import { median, type Row, readable, type Section } from "../page.ts"
import type { Deployment } from "../servers/bench-deployment.ts"
import type { BuildPlace, ServerProcess } from "../servers/measured-server.ts"

type Changes = Partial<Parameters<typeof measure>[1]>

export type Loads = {
  /** A load that is not counted, for the JIT compiler to warm up. */
  readonly heat: (servers: readonly ServerProcess[], changes?: Changes) => Promise<unknown>
  readonly usual: (servers: readonly ServerProcess[], changes?: Changes) => Promise<Measured>
}

export const loads = (
  { plan }: Bench,
  deployment: Pick<Deployment, "secrets" | "lookAtDatabase" | "watchLock">,
): Loads => {
  const job = {
    requests: FULL,
    secrets: deployment.secrets(),
    connections: USUAL_CONNECTIONS,
    warmSeconds: plan.warmSeconds,
    seconds: plan.seconds,
  }
  return {
    heat: (servers, changes = {}) =>
      measure(servers, { ...job, warmSeconds: 0, seconds: plan.heatSeconds, ...changes }),
    usual: (servers, changes = {}) =>
      measure(servers, { ...job, ...changes }, deployment.lookAtDatabase, deployment.watchLock),
  }
}

/** One load, and how it is made once. */
export type Side = { readonly what: string; readonly note?: string; readonly once: () => Promise<Measured> }

/** A load in every round. */
export type LoadRow = { readonly what: string; readonly note?: string; readonly rounds: readonly Measured[] }

/** Measures all sides in turn, round by round, so that a drift of the machine's speed affects all of them. */
export async function inTurn({ plan, say }: Pick<Bench, "plan" | "say">, sides: readonly Side[]): Promise<LoadRow[]> {
  const rows = sides.map(side => ({ ...side, rounds: [] as Measured[] }))
  for (let round = 1; round <= plan.rounds; round++)
    for (const { what, once, rounds } of rows) {
      say(`${what}, round ${round} of ${plan.rounds}`)
      rounds.push(await once())
    }
  return rows
}

/** The median of a value over the rounds. */
export const middle = ({ rounds }: LoadRow, of: (round: Measured) => number): number => median(rounds.map(of))

/** The smallest and the largest value of several rounds; "" of one. */
export function range({ rounds }: LoadRow, of: (round: Measured) => number): string {
  const values = rounds.map(of)
  return values.length > 1 ? `${readable(Math.min(...values))}–${readable(Math.max(...values))}` : ""
}

/** The median and the range. */
function spread(row: LoadRow, of: (round: Measured) => number): string {
  const value = middle(row, of)
  const around = Number.isFinite(value) ? range(row, of) : ""
  return around === "" ? readable(value) : `${readable(value)} (${around})`
}

/** Text of a title. */
export const inRounds = ({ rounds }: Bench["plan"]): string =>
  rounds === 1 ? "one round" : `${rounds} rounds in turn: medians (ranges)`

/** How often the rate of one is in that of another: the median over the rounds, each against the same round. */
export const times = (one: LoadRow, other: LoadRow): string =>
  `${readable(median(one.rounds.map(({ perSecond }, round) => perSecond / (other.rounds[round]?.perSecond ?? Number.NaN))))} ×`

/** Verifications that one core does in the time of one answer. */
const inVerifications = ({ perSecond, verificationMicros }: Measured): number =>
  1_000_000 / perSecond / verificationMicros

const COLUMNS = [
  "what",
  "a second",
  "P-256 each",
  "p50 ms",
  "p99 ms",
  "service µs each",
  "database µs each",
  "idle %",
  "",
]

/** A table of loads. Processor time is of all threads of the service, and of all processes of the database. */
export const loadSection = (title: string, rows: readonly LoadRow[]): Section => ({
  title,
  columns: COLUMNS,
  rows: rows.map(row => [
    row.what,
    spread(row, ({ perSecond }) => perSecond),
    readable(middle(row, inVerifications)),
    spread(row, ({ p50 }) => p50),
    spread(row, ({ p99 }) => p99),
    spread(row, ({ cost }) => cost.serverMicros),
    readable(middle(row, ({ cost }) => cost.databaseMicros)),
    readable(middle(row, ({ idle }) => idle * 100)),
    row.note ?? "",
  ]),
})

/** A note of several parts, without the empty ones. */
export const joined = (...parts: readonly string[]): string => parts.filter(part => part !== "").join("; ")

/** How long the lock of the log's head was held for each answer. */
export const lockNote = (row: LoadRow): string =>
  `lock held ${spread(row, ({ cost }) => cost.lockMicros)} µs each, by the database ${spread(row, ({ cost }) => cost.databaseLockMicros)}; ${batchesNote(row)}`

/** How many of a hundred batches were built where. */
function batchesNote(row: LoadRow): string {
  const share = (place: BuildPlace): string => {
    const of = ({ cost: { batches } }: Measured): number =>
      (100 * batches[place]) / (batches.ahead + batches.locked + batches.again)
    return readable(middle(row, of))
  }
  return `of 100 batches ${share("ahead")} were built ahead, ${share("locked")} behind the lock, ${share("again")} again`
}

/** What the lock of the log's head allows: a row of the time it is held, and one of the rate that follows. */
export function lockRows(row: LoadRow, each: string): readonly Row[] {
  const micros = middle(row, ({ cost }) => cost.lockMicros)
  const held = joined(
    range(row, ({ cost }) => cost.lockMicros),
    "one process holds it at a time",
  )
  return [
    { what: "the log's lock was held", value: micros, unit: "µs", note: held },
    {
      what: "… as the database shows it",
      value: middle(row, ({ cost }) => cost.databaseLockMicros),
      unit: "µs",
      note: joined(
        range(row, ({ cost }) => cost.databaseLockMicros),
        batchesNote(row),
      ),
    },
    {
      what: "… so a log could reach at most",
      value: 1_000_000 / micros,
      unit: `${each} a second`,
      note: "computed, not measured: with so many servers that the lock is always held",
    },
  ]
}

/** The numbers of connections in the plan but the usual one. */
export const connectionSides = ({ plan }: Bench, { usual }: Loads, service: ServerProcess): readonly Side[] =>
  plan.connections
    .filter(number => number !== USUAL_CONNECTIONS)
    .map(connections => ({
      what: `${connections} connection${connections === 1 ? "" : "s"}`,
      once: () => usual([service], { connections }),
    }))

/** The usual load, and half the rate that it had in the same round. */
export function saturatedAndHalf({ usual }: Loads, service: ServerProcess, changes: Changes = {}): readonly Side[] {
  let perSecond = 0
  return [
    {
      what: `${USUAL_CONNECTIONS} connections`,
      once: async () => {
        const measured = await usual([service], changes)
        perSecond = measured.perSecond / 2
        return measured
      },
    },
    {
      what: "half of that rate",
      note: "open loop: latency from the instant a request was due",
      once: () => usual([service], { ...changes, perSecond }),
    },
  ]
}
