/**
 * Prometheus metrics. No label comes from a caller: outcomes, limits, registered routes, classes of status and the operator's
 * witnesses are closed lists, so that no request can create a time series.
 */
import { randomUUID } from "node:crypto"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import type { Delivery } from "@runseal/core/wire/delivery-messages"
import { REQUEST_ID_HEADER } from "@runseal/core/wire/error-codes"
import { OUTSIDE_FAULTS, type OutsideStanding } from "@runseal/core/wire/log-answers"
import { errorAnswer } from "@runseal/core/wire/service-answers"
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client"
import { HttpError, helpLink } from "../../http-error.ts"
import type { Config } from "../../options/config.ts"
import { type Counters, METERED_DOCUMENTS, type Readiness } from "../../telemetry.ts"
import { type Listening, listen } from "../listen.ts"

/** Seconds from a single commit on a quick disk to the deadline of most callers. */
const SEALING_BUCKETS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** What is read when the metrics are requested. */
type Gauges = {
  /** Records that wait to be sealed. */
  readonly waiting: () => number
  readonly readiness: () => Promise<Readiness>
  /** The open permits of all processes. */
  readonly openPermits: () => Promise<{ readonly permits: number; readonly reserved: number }>
  /** How far the outside log has come that this process delivers to. */
  readonly outside?: (() => Promise<OutsideStanding | undefined>) | undefined
  /** How far the deliveries of events are, of all processes. */
  readonly deliveries: () => Promise<readonly Delivery[]>
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
  const { counter, histogram } = metricsOf(registry)
  const runs = counter("runseal_runs_total", "Runs sealed and acknowledged, by outcome.", "outcome")
  const documents = new Map<string, Counter>(
    Object.entries(METERED_DOCUMENTS).map(([kind, [name, help]]) => [kind, counter(name, help)]),
  )
  const sealing = histogram(
    "runseal_sealing_seconds",
    "From the sealer's queue to the durable document: runs, attestations, openings and ends of permits.",
    SEALING_BUCKETS,
  )
  const batches = histogram(
    "runseal_batch_records",
    "Runs, attestations and permits of one transaction.",
    BATCH_BUCKETS,
  )
  const locked = histogram(
    "runseal_log_lock_seconds",
    "From the lock of the log's head to the end of the transaction, for each batch.",
    SEALING_BUCKETS,
  )
  const built = counter(
    "runseal_batches_built_total",
    "Batches by where they were built: before the lock of the log's head, behind it, or again behind it.",
    "place",
  )
  const failures = counter(
    "runseal_batch_failures_total",
    "Batches that were not committed; everything in them was refused.",
  )
  const wrong = counter(
    "runseal_wrong_signatures_total",
    "Signatures and records that were committed and do not verify. Any is an alarm.",
  )
  const reads = counter(
    "runseal_reads_total",
    "Reads of lists, records and tiles with a read standby, by the servers that were asked.",
    "servers",
  )
  const refusals = counter("runseal_limit_refusals_total", "Requests refused with 429, by limit.", "limit")
  const spans = counter("runseal_spans_total", "Spans of OpenTelemetry received, by what became of them.", "fate")
  const answers = counter(
    "runseal_http_answers_total",
    "HTTP answers by method and route, as registered, and class of status.",
    ...(["method", "route", "status"] as const),
  )
  for (const outcome of OUTCOME_KINDS) runs.inc({ outcome }, 0)
  for (const place of ["ahead", "locked", "again"]) built.inc({ place }, 0)
  for (const limit of ["shared", "attest", "permits", "sessions", "trial"]) refusals.inc({ limit }, 0)
  return {
    answered: (route, status) =>
      answers.inc({
        method: route?.method ?? "other",
        route: route?.path ?? "other",
        status: `${Math.floor(status / 100)}xx`,
      }),
    sealed: (kind, seconds) => {
      sealing.observe(seconds)
      const document = documents.get(kind)
      if (document === undefined) runs.inc({ outcome: kind })
      else document.inc()
    },
    committed: records => batches.observe(records),
    built: place => built.inc({ place }),
    lockHeld: seconds => locked.observe(seconds),
    batchFailed: () => failures.inc(),
    signatureWrong: () => wrong.inc(),
    readFrom: servers => reads.inc({ servers }),
    limited: limit => refusals.inc({ limit }),
    spansReceived: (fate, count) => spans.inc({ fate }, count),
    ...countOutbound(registry),
  }
}

function registerDeliveries(registry: Registry, deliveries: Gauges["deliveries"]): void {
  const { gauge } = metricsOf(registry)
  const lag = gauge(
    "runseal_event_lag_seconds",
    "How long the oldest entry that a destination has not passed is in the log.",
    "destination",
  )
  const labelNames = ["destination"] as const
  const backlog: Gauge<"destination"> = new Gauge({
    name: "runseal_event_backlog_entries",
    help: "Entries of the log that a destination has not passed yet.",
    labelNames,
    registers: [registry],
    collect: async () => {
      const rows = await deliveries().catch(() => undefined)
      if (rows === undefined) return
      for (const one of [backlog, lag]) one.reset()
      for (const { id, backlog: entries, lag_seconds } of rows) {
        backlog.set({ destination: `${id}` }, entries)
        lag.set({ destination: `${id}` }, lag_seconds)
      }
    },
  })
}

function registerGauges(registry: Registry, { waiting, readiness, openPermits, outside, deliveries }: Gauges): void {
  const { readGauge } = metricsOf(registry)
  registerDeliveries(registry, deliveries)
  if (outside !== undefined) {
    readGauge(
      "runseal_outside_backlog_entries",
      "Entries that the outside log does not hold yet; the last number that was read while the database is not usable.",
      async () => (await outside())?.backlog,
    )
    readGauge(
      "runseal_outside_oldest_age_seconds",
      "How long the oldest of these entries is in the embedded log.",
      async () => (await outside())?.oldest_age_seconds,
    )
  }
  readGauge(
    "runseal_open_permits",
    "Permits that are neither closed nor ended.",
    async () => (await openPermits()).permits,
  )
  readGauge("runseal_reserved_tokens", "Tokens that open permits reserve.", async () => (await openPermits()).reserved)
  readGauge("runseal_sealing_queue_records", "Runs and attestations that wait to be sealed.", async () => waiting())
  readGauge(
    "runseal_log_entries",
    "Entries of the log; the last that was read while the database is not usable.",
    async () => {
      const found = await readiness()
      return found.ready ? found.log_size : undefined
    },
  )
  readGauge("runseal_ready", "1 while database and log are usable, else 0.", async () =>
    (await readiness()).ready ? 1 : 0,
  )
}

const HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" }
const ALLOW = "GET, HEAD"

/** The metrics have a port of their own, for the operator alone. */
async function answer(metrics: Metrics, baseUrl: string | undefined, request: Request): Promise<Response> {
  if (new URL(request.url).pathname !== "/metrics")
    return refusal(new HttpError("endpoint_not_found", "There is only GET /metrics here."), baseUrl)
  if (!ALLOW.split(", ").includes(request.method))
    return refusal(
      new HttpError("method_not_allowed", `/metrics has no such method; it has ${ALLOW}.`, { Allow: ALLOW }),
      baseUrl,
    )
  const { text, type } = await metrics.expose()
  return new Response(text, { headers: { ...HEADERS, "Content-Type": type } })
}

/** The list of codes is at the service's address, not at this one. */
function refusal({ code, message, status, headers }: HttpError, baseUrl: string | undefined): Response {
  const request_id = randomUUID()
  const help = baseUrl === undefined ? {} : helpLink(baseUrl)
  return Response.json(errorAnswer(code, message, request_id), {
    status,
    headers: { ...HEADERS, ...help, ...headers, [REQUEST_ID_HEADER]: request_id },
  })
}

type MetricsAddress = Pick<Config, "metricsHost" | "baseUrl"> & { readonly port: number }

/** @throws StartupError when the address cannot be listened on */
export const listenForMetrics = (
  metrics: Metrics,
  { metricsHost, port, baseUrl }: MetricsAddress,
): Promise<Listening> =>
  listen({ fetch: request => answer(metrics, baseUrl, request), host: metricsHost, port, baseUrl })

// What is counted of witnesses, outside logs, receivers of events and the collector of traces.

const countOutbound = (registry: Registry) => ({
  ...countWitnesses(registry),
  ...countOutside(registry),
  ...countDeliveries(registry),
  ...countOwnSpans(registry),
})

/** Destinations are named by admin keys, and there are 32 at most. */
function countDeliveries(registry: Registry): Pick<Counters, "eventsDelivered" | "eventNotDelivered"> {
  const { counter } = metricsOf(registry)
  const delivered = counter("runseal_events_delivered_total", "Events that a receiver took.", "destination")
  const faults = counter(
    "runseal_event_failures_total",
    "Attempts to deliver an event that failed, by destination and fault.",
    ...(["destination", "fault"] as const),
  )
  return {
    eventsDelivered: (destination, events) => delivered.inc({ destination: `${destination}` }, events),
    eventNotDelivered: (destination, fault) => faults.inc({ destination: `${destination}`, fault }),
  }
}

function countWitnesses(registry: Registry): Pick<Counters, "cosigned" | "notCosigned" | "witnessed"> {
  const { counter, gauge } = metricsOf(registry)
  const size = gauge("runseal_witness_cosigned_entries", "Entries of the tree that a witness cosigned last.", "witness")
  const time = gauge(
    "runseal_witness_cosigned_time_seconds",
    "When a witness cosigned last, by its clock, in Unix seconds.",
    "witness",
  )
  const faults = counter(
    "runseal_witness_failures_total",
    "Requests for a cosignature that brought none, by witness and fault.",
    ...(["witness", "fault"] as const),
  )
  const witnessed = gauge("runseal_witnessed_entries", "Entries of the last tree that enough witnesses cosigned.")
  return {
    cosigned: (witness, entries, seconds) => {
      size.set({ witness }, entries)
      time.set({ witness }, seconds)
    },
    notCosigned: (witness, fault) => faults.inc({ witness, fault }),
    witnessed: entries => witnessed.set(entries),
  }
}

function countOutside(registry: Registry): Pick<Counters, "entered" | "notEntered"> {
  const { counter } = metricsOf(registry)
  const entered = counter(
    "runseal_outside_entries_total",
    "Entries that the outside log holds and this process stored, by whether they came late.",
    "late",
  )
  const faults = counter(
    "runseal_outside_failures_total",
    "Attempts to deliver to the outside log that failed, by fault.",
    "fault",
  )
  for (const late of ["false", "true"]) entered.inc({ late }, 0)
  for (const fault of OUTSIDE_FAULTS) faults.inc({ fault }, 0)
  return {
    entered: late => entered.inc({ late: `${late}` }),
    notEntered: fault => faults.inc({ fault }),
  }
}

function countOwnSpans(registry: Registry): Pick<Counters, "ownSpans"> {
  const { counter } = metricsOf(registry)
  const ownSpans = counter(
    "runseal_own_spans_total",
    "Spans of this service's own traces, by what became of them.",
    "fate",
  )
  for (const fate of ["exported", "failed", "dropped"]) ownSpans.inc({ fate }, 0)
  return { ownSpans: (fate, spans) => ownSpans.inc({ fate }, spans) }
}

/** Makers of the metrics of a registry. */
const metricsOf = (registry: Registry) => {
  const registers = [registry]
  return {
    counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers }),
    gauge: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge({ name, help, labelNames, registers }),
    /** @param read called for each exposition; a rejection leaves the last value */
    readGauge: (name: string, help: string, read: () => Promise<number | undefined>): void => {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers,
        collect: async () => {
          const value = await read().catch(() => undefined)
          if (value !== undefined) gauge.set(value)
        },
      })
    },
  }
}
