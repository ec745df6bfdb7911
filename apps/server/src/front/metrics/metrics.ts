/**
 * Prometheus metrics. No label comes from a caller: outcomes, limits, registered routes, classes of status and the operator's
 * witnesses are closed lists, so that no request can create a time series.
 */
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import { OUTSIDE_FAULTS, type OutsideStanding } from "@runseal/core/wire/log-answers"
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import type { Counters, Readiness } from "../../telemetry.ts"
import { type Listening, listen } from "../http/listen.ts"

/** Seconds from a single commit on a quick disk to the deadline of most callers. */
const SEALING_BUCKETS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** What is read when the metrics are requested. */
type Gauges = {
  /** Records that wait to be sealed. */
  readonly waiting: () => number
  readonly readiness: () => Promise<Readiness>
  /** How far the outside log has come that this process delivers to. */
  readonly outside?: (() => Promise<OutsideStanding | undefined>) | undefined
}

export type Metrics = {
  readonly counters: Counters
  /** Registers the gauges, once the parts that they read exist. */
  readonly read: (gauges: Gauges) => void
  /** The text exposition format and its media type. */
  readonly expose: () => Promise<{ readonly text: string; readonly type: string }>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    counters: createCounters(registry),
    read: gauges => registerGauges(registry, gauges),
    expose: async () => ({ text: await registry.metrics(), type: registry.contentType }),
  }
}

function createCounters(registry: Registry): Counters {
  const registers = [registry]
  const runs = new Counter({
    name: "runseal_runs_total",
    help: "Runs sealed and acknowledged, by outcome.",
    labelNames: ["outcome"],
    registers,
  })
  const attestations = new Counter({
    name: "runseal_attestations_total",
    help: "Attestations anchored and acknowledged.",
    registers,
  })
  const sealing = new Histogram({
    name: "runseal_sealing_seconds",
    help: "From the sealer's queue to the durable record, for runs and attestations.",
    buckets: SEALING_BUCKETS,
    registers,
  })
  const batches = new Histogram({
    name: "runseal_batch_records",
    help: "Runs and attestations of one transaction.",
    buckets: BATCH_BUCKETS,
    registers,
  })
  const failures = new Counter({
    name: "runseal_batch_failures_total",
    help: "Batches that were not committed; everything in them was refused.",
    registers,
  })
  const refusals = new Counter({
    name: "runseal_limit_refusals_total",
    help: "Requests refused with 429, by limit.",
    labelNames: ["limit"],
    registers,
  })
  const answers = new Counter({
    name: "runseal_http_answers_total",
    help: "HTTP answers by method and route, as registered, and class of status.",
    labelNames: ["method", "route", "status"],
    registers,
  })
  for (const outcome of OUTCOME_KINDS) runs.inc({ outcome }, 0)
  for (const limit of ["shared", "attest", "trial"]) refusals.inc({ limit }, 0)
  return {
    answered: (route, status) =>
      answers.inc({
        method: route?.method ?? "other",
        route: route?.path ?? "other",
        status: `${Math.floor(status / 100)}xx`,
      }),
    sealed: (kind, seconds) => {
      sealing.observe(seconds)
      if (kind === "attestation") attestations.inc()
      else runs.inc({ outcome: kind })
    },
    committed: records => batches.observe(records),
    batchFailed: () => failures.inc(),
    limited: limit => refusals.inc({ limit }),
    ...countWitnesses(registers),
    ...countOutside(registers),
  }
}

function countWitnesses(registers: Registry[]): Pick<Counters, "cosigned" | "notCosigned" | "witnessed"> {
  const size = new Gauge({
    name: "runseal_witness_cosigned_entries",
    help: "Entries of the tree that a witness cosigned last.",
    labelNames: ["witness"],
    registers,
  })
  const time = new Gauge({
    name: "runseal_witness_cosigned_time_seconds",
    help: "When a witness cosigned last, by its clock, in Unix seconds.",
    labelNames: ["witness"],
    registers,
  })
  const faults = new Counter({
    name: "runseal_witness_failures_total",
    help: "Requests for a cosignature that brought none, by witness and fault.",
    labelNames: ["witness", "fault"],
    registers,
  })
  const witnessed = new Gauge({
    name: "runseal_witnessed_entries",
    help: "Entries of the last tree that enough witnesses cosigned.",
    registers,
  })
  return {
    cosigned: (witness, entries, seconds) => {
      size.set({ witness }, entries)
      time.set({ witness }, seconds)
    },
    notCosigned: (witness, fault) => faults.inc({ witness, fault }),
    witnessed: entries => witnessed.set(entries),
  }
}

function countOutside(registers: Registry[]): Pick<Counters, "entered" | "notEntered"> {
  const entered = new Counter({
    name: "runseal_outside_entries_total",
    help: "Entries that the outside log holds and this process stored, by whether they came late.",
    labelNames: ["late"],
    registers,
  })
  const faults = new Counter({
    name: "runseal_outside_failures_total",
    help: "Attempts to deliver to the outside log that failed, by fault.",
    labelNames: ["fault"],
    registers,
  })
  for (const late of ["false", "true"]) entered.inc({ late }, 0)
  for (const fault of OUTSIDE_FAULTS) faults.inc({ fault }, 0)
  return {
    entered: late => entered.inc({ late: `${late}` }),
    notEntered: fault => faults.inc({ fault }),
  }
}

/** Gauges of the entries that the outside log does not hold yet. */
function registerBacklog(registers: Registry[], standing: NonNullable<Gauges["outside"]>): void {
  const backlog: Gauge = new Gauge({
    name: "runseal_outside_backlog_entries",
    help: "Entries that the outside log does not hold yet; the last number that was read while the database is not usable.",
    registers,
    collect: async () => {
      const found = await standing().catch(() => undefined)
      if (found === undefined) return
      backlog.set(found.backlog)
      age.set(found.oldest_age_seconds)
    },
  })
  const age = new Gauge({
    name: "runseal_outside_oldest_age_seconds",
    help: "How long the oldest of these entries is in the embedded log.",
    registers,
  })
}

function registerGauges(registry: Registry, { waiting, readiness, outside }: Gauges): void {
  const registers = [registry]
  if (outside !== undefined) registerBacklog(registers, outside)
  const queue: Gauge = new Gauge({
    name: "runseal_sealing_queue_records",
    help: "Runs and attestations that wait to be sealed.",
    registers,
    collect: () => queue.set(waiting()),
  })
  const size: Gauge = new Gauge({
    name: "runseal_log_entries",
    help: "Entries of the log; the last that was read while the database is not usable.",
    registers,
    collect: async () => {
      const found = await readiness()
      if (found.ready) size.set(found.log_size)
    },
  })
  const ready: Gauge = new Gauge({
    name: "runseal_ready",
    help: "1 while database and log are usable, else 0.",
    registers,
    collect: async () => ready.set((await readiness()).ready ? 1 : 0),
  })
}

const HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" }

/** The metrics have a port of their own, for the operator alone. */
async function answer(metrics: Metrics, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname !== "/metrics" || (request.method !== "GET" && request.method !== "HEAD"))
    return Response.json({ ok: false, error: "There is only GET /metrics here." }, { status: 404, headers: HEADERS })
  const { text, type } = await metrics.expose()
  return new Response(text, { headers: { ...HEADERS, "Content-Type": type } })
}

/** @throws StartupError when the address cannot be listened on */
export const listenForMetrics = (metrics: Metrics, host: string, port: number): Promise<Listening> =>
  listen({ fetch: request => answer(metrics, request), host, port })
