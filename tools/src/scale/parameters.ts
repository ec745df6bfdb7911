/**
 * What the simulation is told. Measured costs come from the tables of docs/performance.md, so that new ones are one command away:
 * `npm run scale -- --write`. What no table says stands here: shares by profile, and what is assumed of network, disk and machines.
 */
import { readMeasured, type Threads } from "./bench-tables.ts"

export const MEASURED: ReturnType<typeof readMeasured> = readMeasured()

/** docs/performance.md, "Where the time goes": shares of the main thread's time. */
const PROFILE = {
  /** What is done for the sake of a record's place in the log: leaves, signatures, proofs, stages 7–9, texts. */
  sealing: 0.33,
  /** Everything whose place is known; the rest (collection, driver) is shared out in proportion. */
  placed: 0.33 + 0.2 + 0.25,
}

/** The same section: threads at 64 connections, for a bench whose system does not tell them apart. Only their ratio counts. */
const THREADS_BY_PROFILE: Threads = { main: 1.3, workers: 1.4, engine: 0.4 }

/** Cores of the bench's machine; the service, the database and the load generator share them. */
const BENCH_CORES = 2

/** `MAX_THREADS` of sealing/verification.ts. */
const MAX_VERIFIERS = 4

/** Costs of the model, in microseconds of one core unless said otherwise. */
export type Parameters = {
  /** Of a run on the event loop beside sealing: HTTP, parsing, look-ups, stages 1–6. */
  readonly request_us: number
  /** Of building and signing one record, on the event loop. */
  readonly seal_us: number
  /** Of verifying and packing one record, in a thread. */
  readonly verify_us: number
  /** Of a run in the engine's own threads; nobody waits for it, but it takes a core. */
  readonly engine_us: number
  /** Threads of a server that verify. */
  readonly verifiers: number
  /** Share of `seal_us` in which documents are finished, each handed to a verifier as soon as it is. */
  readonly finish_share: number
  /** Share of `seal_us` that has to be done again when the record gets another place in the log; it is verified again as a whole. */
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
  /** A machine each for every server and every database; otherwise all of them share one of `database_cores`. */
  readonly own_machines: boolean
  readonly server_cores: number
  readonly database_cores: number
  /** `BATCH_MAX_ITEMS` of the sealer. */
  readonly batch_max: number
  /** `TURN_MS` of a batch: others on the event loop have their turn in between. */
  readonly turn_us: number
}

/** Transactions of one run that are synced: its charge and its record. */
const SYNCED_TRANSACTIONS = 2

/**
 * Costs that grow with runs and costs of every transaction, from a line with one run in each and a line with many. What a transaction
 * costs the service is the event loop's; of what a run costs, the threads' times are in the ratio that was measured with many.
 */
function derived(): Pick<Parameters, ServiceCost | DatabaseCost> {
  const { one, many, syncs_a_run, threads = THREADS_BY_PROFILE } = MEASURED
  const batch = SYNCED_TRANSACTIONS / syncs_a_run
  const split = (alone: number, together: number): { readonly run: number; readonly fixed: number } => {
    const fixed = Math.max(0, (alone - together) / (1 - 1 / batch))
    return { run: Math.max(0, alone - fixed), fixed: fixed / SYNCED_TRANSACTIONS }
  }
  const service = split(one.service_us, many.service_us)
  const database = split(one.database_us, many.database_us)
  const share = (of: number): number => (many.service_us * of) / (threads.main + threads.workers + threads.engine)
  const [verify_us, engine_us] = [share(threads.workers), share(threads.engine)]
  const main = Math.max(0, service.run - verify_us - engine_us)
  const seal_us = main * (PROFILE.sealing / PROFILE.placed)
  return {
    seal_us,
    request_us: main - seal_us,
    verify_us,
    engine_us,
    transaction_us: service.fixed,
    database_run_us: database.run,
    database_transaction_us: database.fixed,
  }
}
type ServiceCost = "request_us" | "seal_us" | "verify_us" | "engine_us" | "transaction_us"
type DatabaseCost = "database_run_us" | "database_transaction_us"

/** The machine of the bench, to hold the model against what was measured there. */
export const BENCH_MACHINE: Parameters = {
  ...derived(),
  verifiers: Math.min(BENCH_CORES, MAX_VERIFIERS),
  wal_run_bytes: MEASURED.wal_run_bytes,
  own_machines: false,
  server_cores: BENCH_CORES,
  database_cores: BENCH_CORES,
  // Assumed: a socket of the same machine, and a disk whose sync is absorbed by the host.
  round_trip_us: 60,
  sync_us: 200,
  disk_bytes_a_second: 500e6,
  // Estimates, not measurements.
  finish_share: 0.4,
  moved_share: 0.6,
  batch_max: 256,
  turn_us: 5000,
}

/** Servers with a machine each and a database with sixteen cores, in one data centre: the processor times are measured, the rest assumed. */
export const DATA_CENTRE: Parameters = {
  ...BENCH_MACHINE,
  own_machines: true,
  verifiers: MAX_VERIFIERS,
  server_cores: 4,
  database_cores: 16,
  round_trip_us: 300,
  sync_us: 1000,
}
