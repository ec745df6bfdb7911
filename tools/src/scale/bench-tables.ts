/** What the simulation takes from the bench: lines of the tables in docs/performance.md, found by the words they begin with. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const PAGE = fileURLToPath(new URL("../../../docs/performance.md", import.meta.url))

/** A line of the bench's tables for `POST /execute` on PostgreSQL. */
export type MeasuredLine = {
  readonly a_second: number
  readonly p50_ms: number
  /** Processor time of a run, all threads of the service, microseconds. */
  readonly service_us: number
  /** Processor time of a run, all processes of the database, microseconds. */
  readonly database_us: number
}

/** A line with so many connections. */
export type ConnectionsLine = MeasuredLine & { readonly connections: number }

export type Measured = {
  readonly one: ConnectionsLine
  readonly many: ConnectionsLine
  /** Other numbers of connections; nothing is derived from them, the simulation is held against them. */
  readonly others: readonly ConnectionsLine[]
  /** "Processes on one PostgreSQL": 64 connections, shared out. Nothing is derived from these either. */
  readonly processes: readonly [single: MeasuredLine, pair: MeasuredLine]
  readonly wal_run_bytes: number
  /** Syncs of the write-ahead log a run, at `many` connections. */
  readonly syncs_a_run: number
  /** Of a run at `many` connections, microseconds of each kind of thread; undefined where the bench's system does not tell. */
  readonly threads: Threads | undefined
}

export type Threads = { readonly main: number; readonly workers: number; readonly engine: number }

const EXECUTE = "POST /execute on PostgreSQL"
const COST = "What one run costs"
const PROCESSES = "Processes on one PostgreSQL"

/** What stands in docs/performance.md now. @throws Error that names the line that is not there */
export const readMeasured = (): Measured => measuredOn(readFileSync(PAGE, "utf8"))

/** The same of the text of a page. */
export function measuredOn(page: string): Measured {
  const line = (title: string, what: string): MeasuredLine => {
    const [a_second = Number.NaN, p50_ms = Number.NaN, , service_us = Number.NaN, database_us = Number.NaN] = row(
      page,
      title,
      what,
    ).map(numberOf)
    return { a_second, p50_ms, service_us, database_us }
  }
  const withConnections = (connections: number, what: string): ConnectionsLine => ({
    connections,
    ...line(EXECUTE, what),
  })
  const cost = (what: string): number => numberOf(row(page, COST, what)[0] ?? "")
  return {
    one: withConnections(1, "the service, 1 connection"),
    many: withConnections(64, "the service"),
    others: [8, 256].map(connections => withConnections(connections, `the service, ${connections} connections`)),
    processes: [line(PROCESSES, "one process"), line(PROCESSES, "two processes")],
    wal_run_bytes: cost("write-ahead log"),
    syncs_a_run: cost("syncs of the write-ahead log"),
    threads: threadsOn(page),
  }
}

function threadsOn(page: string): Threads | undefined {
  const of = (what: string): number => {
    const cells = findRow(page, COST, `… of ${what}`)
    return cells === undefined ? Number.NaN : numberOf(cells[0] ?? "")
  }
  const threads = {
    main: of("its main thread"),
    workers: of("its worker threads"),
    engine: of("the engine's own threads"),
  }
  return Object.values(threads).every(Number.isFinite) ? threads : undefined
}

/** The cells after the first of the row that begins with these words, in the table with that title. */
function row(page: string, title: string, what: string): readonly string[] {
  const found = findRow(page, title, what)
  if (found === undefined)
    throw new Error(`docs/performance.md has no line "${what}" under "${title}": npm run bench -- --write`)
  return found
}

function findRow(page: string, title: string, what: string): readonly string[] | undefined {
  const table = page.split("\n### ").find(text => text.startsWith(title))
  const line = table?.split("\n").find(text => text.startsWith(`| ${what} |`))
  return line?.split("|").slice(2, -1)
}

/** "3,125 µs" is 3125; NaN for what is no number. */
const numberOf = (cell: string): number => Number.parseFloat(cell.replaceAll(",", ""))
