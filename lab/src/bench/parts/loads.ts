/** Shared by all measurements of `POST /execute`: the usual load, alternating rounds, a table. */

import { type Bench, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { FULL } from "../bodies.ts"
import { type Measured, measure } from "../measured-load.ts"
import { median, readable, type Section } from "../page.ts"
import type { Deployment } from "../servers/bench-deployment.ts"
import type { ServerProcess } from "../servers/measured-server.ts"

export type Loads = {
  /** A load that is not counted, for the JIT compiler to warm up. */
  readonly heat: (servers: readonly ServerProcess[]) => Promise<unknown>
  readonly usual: (
    servers: readonly ServerProcess[],
    changes?: Partial<Parameters<typeof measure>[1]>,
  ) => Promise<Measured>
}

export const loads = ({ plan }: Bench, deployment: Deployment): Loads => {
  const job = {
    requests: FULL,
    secrets: deployment.secrets(),
    connections: USUAL_CONNECTIONS,
    warmSeconds: plan.warmSeconds,
    seconds: plan.seconds,
  }
  return {
    heat: servers => measure(servers, { ...job, warmSeconds: 0, seconds: plan.heatSeconds }),
    usual: (servers, changes = {}) => measure(servers, { ...job, ...changes }, deployment.lookAtDatabase),
  }
}

/** Measures two sides alternately, so that a drift of the machine's speed affects both. @returns the median round of each */
export async function inTurn(
  { plan, say }: Bench,
  what: string,
  one: () => Promise<Measured>,
  other: () => Promise<Measured>,
): Promise<{ readonly one: Measured; readonly other: Measured }> {
  const ones: Measured[] = []
  const others: Measured[] = []
  for (let round = 1; round <= plan.rounds; round++) {
    say(`${what}: round ${round}`)
    ones.push(await one())
    others.push(await other())
  }
  return { one: middleRound(ones), other: middleRound(others) }
}

/** The round with the median rate. */
function middleRound(rounds: readonly Measured[]): Measured {
  const rate = median(rounds.map(({ perSecond }) => perSecond))
  const found = rounds.find(({ perSecond }) => perSecond === rate)
  if (found === undefined) throw new Error("nothing was measured")
  return found
}

/** Text of a row on which round it shows. */
export const whichRound = ({ rounds }: Bench["plan"]): string =>
  rounds === 1 ? "one round" : `the middle one of ${rounds} rounds in turn`

export type LoadRow = { readonly what: string; readonly measured: Measured; readonly note?: string }

const COLUMNS = ["what", "a second", "p50 ms", "p99 ms", "service µs each", "database µs each", ""]

/** A table of loads. Processor time is of all threads of the service, and of all processes of the database. */
export const loadSection = (title: string, rows: readonly LoadRow[]): Section => ({
  title,
  columns: COLUMNS,
  rows: rows.map(({ what, measured: { perSecond, p50, p99, cost }, note = "" }) => [
    what,
    ...[perSecond, p50, p99, cost.serverMicros, cost.databaseMicros ?? Number.NaN].map(readable),
    note,
  ]),
})

/** A row for each number of connections in the plan but the usual one. */
export async function connectionRows(
  { plan, say }: Bench,
  { usual }: Loads,
  service: ServerProcess,
  name: string,
): Promise<readonly LoadRow[]> {
  const rows: LoadRow[] = []
  for (const connections of plan.connections.filter(number => number !== USUAL_CONNECTIONS)) {
    say(`${name}: ${connections} connections`)
    const what = `${name}, ${connections} connection${connections === 1 ? "" : "s"}`
    rows.push({ what, measured: await usual([service], { connections }) })
  }
  return rows
}

/** A row at half the rate that was measured at saturation. */
export const halfLoadRow = async (
  { usual }: Loads,
  service: ServerProcess,
  name: string,
  saturated: Measured,
): Promise<LoadRow> => ({
  what: `${name} at half load`,
  measured: await usual([service], { perSecond: saturated.perSecond / 2 }),
  note: "open loop: latency from the instant a request was due",
})

/** How often one rate is in another. */
export const times = (rate: Measured, other: Measured): string => `${readable(rate.perSecond / other.perSecond)} ×`
