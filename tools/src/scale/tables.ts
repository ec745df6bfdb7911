/** The tables of docs/scale.md. */
import { markdown, readable, type Section } from "../bench/row.ts"
import { BENCH_MACHINE, DATA_CENTRE, MEASURED, type Parameters } from "./parameters.ts"
import { BOUNDS, type Bound, type Simulated, simulate } from "./simulate.ts"
import { STRATEGIES, type Strategy, TODAY } from "./strategies.ts"

/** What `npm run scale` takes when nothing is said. */
export const USUAL: TableOptions = { seed: 1, runs: 20_000 }

export type TableOptions = {
  readonly seed: number
  /** Runs counted in each simulation. */
  readonly runs: number
}

export const SERVERS: readonly number[] = [1, 2, 4, 8, 16, 32, 64]

/** Connections of each server in the tables of strategies. */
const CONNECTIONS_A_SERVER = 64

/** From this share of its time on, something is what bounds the rate. */
const BOUND_FROM = 0.9

const NAMES: Readonly<Record<Bound, string>> = {
  lock: "lock of the head",
  loop: "event loops",
  verifiers: "verifiers",
  database: "database",
  disk: "disk of the log",
}

const percent = (share: number): string => `${Math.round(share * 100)} %`

/** What bounds it: the first of the busiest ones; "–" when requests wait for no resource, but for each other. */
export function boundOf({ busy }: Simulated): string {
  const bounds = BOUNDS.filter(bound => busy[bound] >= BOUND_FROM)
  return bounds.map(bound => NAMES[bound]).join(", ") || "–"
}

/** The costs of the model, by their names in parameters.ts. */
export function parametersTable(parameters: Parameters): Section {
  const { own_machines: _own, ...values } = parameters
  const rows = Object.entries(values).map(([name, value]) => [`\`${name}\``, readable(value)])
  return { title: "What the simulation of many servers is told", columns: ["parameter", "value"], rows }
}

/** The model beside what was measured on one machine, whose cores services, database and load generator share. */
export function validation({ seed, runs }: TableOptions): Section {
  const at = (processes: number, connections: number): Simulated =>
    simulate({
      parameters: BENCH_MACHINE,
      strategy: TODAY,
      servers: processes,
      load: { kind: "closed", connections },
      seed,
      runs,
    })
  const { one, many, others, processes } = MEASURED
  const lines = [one, ...others, many].toSorted((a, b) => a.connections - b.connections)
  const row = (what: string, measured: { a_second: number; p50_ms: number }, found: Simulated): readonly string[] => [
    what,
    readable(measured.a_second),
    readable(found.a_second),
    `${found.a_second >= measured.a_second ? "+" : "−"}${percent(Math.abs(found.a_second / measured.a_second - 1))}`,
    readable(measured.p50_ms),
    readable(found.p50_ms),
  ]
  return {
    title: "The model beside the bench: one machine of two cores for all",
    columns: ["what", "measured runs/s", "simulated", "off by", "measured p50 ms", "simulated"],
    rows: [
      ...lines.map(line =>
        row(`${line.connections} connection${line.connections === 1 ? "" : "s"}`, line, at(1, line.connections)),
      ),
      ...processes.map((line, others) =>
        row(`64 connections in another round, processes: ${others + 1}`, line, at(others + 1, 64)),
      ),
    ],
  }
}

/** A strategy with 1 to 64 servers, each with a machine of its own. */
export function strategyTable(strategy: Strategy, options: TableOptions): Section {
  return {
    title: strategy.name,
    columns: [
      "servers",
      "runs/s",
      "p50 ms",
      "p99 ms",
      "batch",
      "lock",
      "event loops",
      "verifiers",
      "database",
      "disk",
      "bound by",
    ],
    rows: SERVERS.map(servers => {
      const base = { parameters: DATA_CENTRE, strategy, servers, ...options }
      const full = simulate({ ...base, load: { kind: "closed", connections: servers * CONNECTIONS_A_SERVER } })
      const half = simulate({ ...base, load: { kind: "open", a_second: full.a_second / 2 } })
      return [
        `${servers}`,
        readable(full.a_second),
        readable(half.p50_ms),
        readable(half.p99_ms),
        readable(full.batch),
        ...BOUNDS.map(bound => percent(full.busy[bound])),
        boundOf(full),
      ]
    }),
  }
}

/** Servers at which the table of costs asks for the bound: more add nothing under one lock. */
const ENOUGH_SERVERS = 16
const FRACTIONS = [1, 1 / 4, 1 / 16, 1 / 64]
const SYNCS_US = [200, 1000, 4000]

/** A record that takes this fraction of its time, on the event loop and in the thread that verifies it. */
const recordAt = (fraction: number): Pick<Parameters, "seal_us" | "verify_us"> => ({
  seal_us: DATA_CENTRE.seal_us * fraction,
  verify_us: DATA_CENTRE.verify_us * fraction,
})

/** How the bound of one log moves with what is done under its lock and with the disk. */
export function costTable({ seed, runs }: TableOptions): Section {
  const cell = (fraction: number, sync_us: number): string => {
    const found = simulate({
      parameters: { ...DATA_CENTRE, ...recordAt(fraction), sync_us },
      strategy: TODAY,
      servers: ENOUGH_SERVERS,
      load: { kind: "closed", connections: ENOUGH_SERVERS * CONNECTIONS_A_SERVER },
      seed,
      runs,
    })
    return `${readable(found.a_second)}, ${boundOf(found)}`
  }
  return {
    title: `${TODAY.name}, ${ENOUGH_SERVERS} servers: runs/s and what bounds them`,
    columns: ["a record: built, verified", ...SYNCS_US.map(us => `sync ${us / 1000} ms`)],
    rows: FRACTIONS.map(fraction => {
      const { seal_us, verify_us } = recordAt(fraction)
      return [`${readable(seal_us)} µs, ${readable(verify_us)} µs`, ...SYNCS_US.map(sync_us => cell(fraction, sync_us))]
    }),
  }
}

/** What is printed first: what the simulation is told, and how far it is off. */
export const grounds = (options: TableOptions): string =>
  [validation(options), parametersTable(DATA_CENTRE)].map(markdown).join("\n\n")

/** All tables, as they stand in docs/scale.md. */
export const page = (options: TableOptions): string =>
  [
    grounds(options),
    ...[...STRATEGIES.map(strategy => strategyTable(strategy, options)), costTable(options)].map(markdown),
  ].join("\n\n")
