/**
 * What the simulation is told. The measured figures stand in the bench's own terms, in one place: after a new bench they are
 * copied here from docs/performance.md, and `npm run scale -- --write` prints the tables of docs/scale.md anew.
 */

/** A line of the bench's tables for `POST /execute` on PostgreSQL. */
export type MeasuredLine = {
  readonly connections: number
  readonly a_second: number
  readonly p50_ms: number
  /** Processor time of a run, all threads of the service. */
  readonly service_us: number
  /** Processor time of a run, all processes of the database. */
  readonly database_us: number
}

/** A line of "Processes on one PostgreSQL". */
export type MeasuredProcesses = Omit<MeasuredLine, "connections"> & { readonly processes: number }

/** From docs/performance.md: "POST /execute on PostgreSQL" and "What one run costs". */
export const MEASURED: {
  readonly one: MeasuredLine
  readonly many: MeasuredLine
  /** Other numbers of connections; nothing is derived from them, the simulation is held against them. */
  readonly others: readonly Pick<MeasuredLine, "connections" | "a_second" | "p50_ms">[]
  /** 64 connections, shared out. Only how much slower a core is beside a busy one is derived from these. */
  readonly processes: readonly [single: MeasuredProcesses, pair: MeasuredProcesses]
  readonly wal_run_bytes: number
  /** Syncs of the write-ahead log a run, at `many` connections. */
  readonly syncs_a_run: number
  /** "Where the time goes": shares of what is done under the lock of the log's head … */
  readonly sealing_share: number
  /** … and of everything whose place is known; the rest (collection, driver) is shared out in proportion. */
  readonly placed_share: number
  /** Cores of that machine; the service, the database and the load generator shared them. */
  readonly cores: number
} = {
  one: { connections: 1, a_second: 61.6, p50_ms: 15.8, service_us: 11_429, database_us: 4078 },
  many: { connections: 64, a_second: 184, p50_ms: 347, service_us: 5457, database_us: 530 },
  others: [
    { connections: 8, a_second: 115, p50_ms: 70.4 },
    { connections: 256, a_second: 181, p50_ms: 1372 },
  ],
  processes: [
    { processes: 1, a_second: 166, p50_ms: 388, service_us: 5886, database_us: 700 },
    { processes: 2, a_second: 166, p50_ms: 400, service_us: 6804, database_us: 827 },
  ],
  wal_run_bytes: 19_308,
  syncs_a_run: 0.15,
  sealing_share: 0.3 + 0.2 + 0.08 + 0.07,
  placed_share: 0.3 + 0.2 + 0.12 + 0.08 + 0.07 + 0.13,
  cores: 2,
}

/** Costs of the model, in microseconds of one core unless said otherwise. */
export type Parameters = {
  /** Of a run beside sealing: HTTP, parsing, look-ups, stages 1–6. */
  readonly request_us: number
  /** Of building, signing and verifying one record. */
  readonly seal_us: number
  /** Share of `seal_us` that has to be done again when the record gets another place in the log. */
  readonly moved_share: number
  /** The service's for one transaction, however many runs are in it. */
  readonly transaction_us: number
  /** The database's for one transaction, and for one run in it. */
  readonly database_transaction_us: number
  readonly database_run_us: number
  readonly wal_run_bytes: number
  /** Waiting, not processor time. */
  readonly round_trip_us: number
  readonly sync_us: number
  /** Bytes a second the disk of the write-ahead log takes. */
  readonly disk_bytes_a_second: number
  /** A machine each for every server and every database; absent: all of them share one of `database_cores`. */
  readonly own_machines: boolean
  readonly database_cores: number
  /** How much longer work takes beside other work on the same machine; 1 where its cores do not get in each other's way. */
  readonly crowding: number
  /** `BATCH_MAX_ITEMS` of the sealer. */
  readonly batch_max: number
  /** `TURN_MS` of a batch: others on the event loop have their turn in between. */
  readonly turn_us: number
}

/** Transactions of one run that are synced: its charge and its record. */
const SYNCED_TRANSACTIONS = 2

/** Costs that grow with runs and costs of every transaction, from a line with one run in each and a line with many. */
function derived(): Pick<Parameters, "request_us" | "seal_us" | "transaction_us" | DatabaseCost> {
  const { one, many, syncs_a_run, sealing_share, placed_share } = MEASURED
  const batch = SYNCED_TRANSACTIONS / syncs_a_run
  const split = (alone: number, together: number): { readonly run: number; readonly fixed: number } => {
    const fixed = Math.max(0, (alone - together) / (1 - 1 / batch))
    return { run: Math.max(0, alone - fixed), fixed: fixed / SYNCED_TRANSACTIONS }
  }
  const service = split(one.service_us, many.service_us)
  const database = split(one.database_us, many.database_us)
  const seal_us = service.run * (sealing_share / placed_share)
  return {
    seal_us,
    request_us: service.run - seal_us,
    transaction_us: service.fixed,
    database_run_us: database.run,
    database_transaction_us: database.fixed,
  }
}
type DatabaseCost = "database_run_us" | "database_transaction_us"

/**
 * Two processes cost more a run than one. Under a lock that is always held one core at least is busy, so that what is busy
 * beyond one core is doubled up, and that part of the work is what got longer.
 */
function crowdingOfBench(): number {
  const [single, pair] = MEASURED.processes
  const busy = (pair.a_second * (pair.service_us + pair.database_us)) / 1e6
  const doubled = Math.max(0, (2 * (busy - 1)) / busy)
  const longer = (pair.service_us + pair.database_us) / (single.service_us + single.database_us) - 1
  return doubled === 0 ? 1 : 1 + Math.max(0, longer) / doubled
}

/** The machine of the bench, to hold the model against what was measured there. */
export const BENCH_MACHINE: Parameters = {
  ...derived(),
  wal_run_bytes: MEASURED.wal_run_bytes,
  own_machines: false,
  database_cores: MEASURED.cores,
  // Assumed: a socket of the same machine, and a disk whose sync is absorbed by the host.
  round_trip_us: 60,
  sync_us: 200,
  disk_bytes_a_second: 500e6,
  crowding: crowdingOfBench(),
  moved_share: 0.6,
  batch_max: 256,
  turn_us: 5000,
}

/** Servers with a machine each and a database with sixteen cores, in one data centre: the processor times are measured, the rest assumed. */
export const DATA_CENTRE: Parameters = {
  ...BENCH_MACHINE,
  own_machines: true,
  crowding: 1,
  database_cores: 16,
  round_trip_us: 300,
  sync_us: 1000,
}
