/** Exports traces of this service by OTLP. This module and its packages are loaded only where an address to export to is set. */
import {
  type Attributes,
  type Context,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { ExportResultCode, parseKeyPairsIntoRecord, parseTraceParent } from "@opentelemetry/core"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from "@opentelemetry/resources"
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace"
import { type Facts, type FollowedRequest, type Follower, followSteps, type Step } from "../followed-steps.ts"
import { SERVICE_NAME, SERVICE_VERSION } from "../options/config.ts"
import type { TracesSettings } from "../options/traces-settings.ts"
import type { Telemetry } from "../telemetry.ts"

export type Traces = {
  /** Sends the spans that wait, within the timeout of one export, and follows no further step. */
  readonly close: () => Promise<void>
}

/** The address, its certificates, its timeout and its compression are read by the exporter's package from the environment. */
export function openTraces(
  settings: TracesSettings,
  telemetry: Pick<Telemetry, "ownSpans" | "collectorChanged">,
): Traces {
  const headers = Object.assign({}, ...settings.headers.map(text => parseKeyPairsIntoRecord(text)))
  const exporter = new OTLPTraceExporter({ headers })
  const detectors = [serviceInstanceIdDetector, envDetector]
  const provider = new TracerProvider({
    sampler: samplerOf(settings),
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": SERVICE_NAME, "service.version": SERVICE_VERSION }))
      .merge(detectResources({ detectors })),
    spanProcessors: [countedExport({ exporter, settings, telemetry })],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const unfollow = followSteps(spansOfSteps(provider.getTracer(SERVICE_NAME, SERVICE_VERSION)))
  return {
    close: async () => {
      unfollow()
      // What the collector did not take is counted. It is no failure of the stop.
      await provider.shutdown().catch(() => undefined)
      context.disable()
    },
  }
}

function samplerOf({ sampler, ratio }: TracesSettings): Sampler {
  switch (sampler) {
    case "always_on":
      return new AlwaysOnSampler()
    case "always_off":
      return new AlwaysOffSampler()
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratio)
    case "parentbased_always_on":
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case "parentbased_always_off":
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case "parentbased_traceidratio":
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
  }
}

// The queue of spans in front of the collector, with every span counted: exported, refused by the collector, or dropped because the queue was full.

type Counted = {
  readonly exporter: SpanExporter
  readonly settings: TracesSettings
  readonly telemetry: Pick<Telemetry, "ownSpans" | "collectorChanged">
}

/** The package drops what its queue cannot hold and tells nobody: so the length of its queue is counted here, and what it would drop is. */
function countedExport({ exporter, settings, telemetry }: Counted): SpanProcessor {
  const { queue: maxQueueSize, batch, delayMs, timeoutMs } = settings
  let waiting = 0
  let takes = true
  const counting: SpanExporter = {
    export: (spans, report) => {
      waiting -= spans.length
      exporter.export(spans, result => {
        const isTaken = result.code === ExportResultCode.SUCCESS
        telemetry.ownSpans(isTaken ? "exported" : "failed", spans.length)
        if (isTaken !== takes) telemetry.collectorChanged(isTaken)
        takes = isTaken
        report(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
  const processor = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize,
    maxExportBatchSize: batch,
    scheduledDelayMillis: delayMs,
    exportTimeoutMillis: timeoutMs,
  })
  return {
    onStart: () => undefined,
    onEnd: (span: ReadableSpan) => {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
      if (waiting >= maxQueueSize) return telemetry.ownSpans("dropped", 1)
      waiting += 1
      processor.onEnd(span)
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  }
}

// Makes spans of the steps of the service. docs/operations.md, "Traces".

/**
 * Requests that get no span. Readiness is asked every second; and spans sent to this service, which may be its own when an operator mistook the
 * address, must not make spans that are sent again. What a run does that they seal is in a trace of its own.
 */
const NOT_FOLLOWED: ReadonlySet<string> = new Set(["/health", "/ready", "/v1/traces"])

/** Methods of the semantic conventions; any other is `_OTHER`, so that no caller's text is a name. */
const METHODS: ReadonlySet<string> = new Set([
  ...["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"],
])

const named = (facts: Facts = {}): Attributes =>
  Object.fromEntries(Object.entries(facts).map(([name, value]) => [`runseal.${name}`, value]))

/** The kind of a failure: its message may quote what a caller or another service sent. */
function fail(span: Span, kind: string): void {
  span.setAttribute("error.type", kind)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

const kindOf = (error: unknown): string => (error instanceof Error ? error.name : "_OTHER")

function spansOfSteps(tracer: Tracer): Follower {
  const items = new WeakMap<object, Link>()
  const runs = new WeakMap<object, Context>()

  /** Of a step in a batch, the request that its run came with. */
  const parentOf = ({ run, apart }: Step): Context => {
    if (apart !== undefined) return ROOT_CONTEXT
    if (run === undefined) return context.active()
    const known = runs.get(run) ?? context.active()
    runs.set(run, known)
    return known
  }
  return {
    step: (step, work) => {
      const parent = parentOf(step)
      const links = (step.apart ?? []).flatMap(item => items.get(item) ?? [])
      const span = tracer.startSpan(step.name, { attributes: named(step.facts), links }, parent)
      if (step.item !== undefined) items.set(step.item, { context: span.spanContext() })
      const note = (facts: Facts): void => {
        span.setAttributes(named(facts))
        if (facts.fault !== undefined) fail(span, `${facts.fault}`)
      }
      return during(
        span,
        parent,
        () => work(note),
        error => fail(span, kindOf(error)),
      )
    },
    request: (request, work) => {
      if (NOT_FOLLOWED.has(request.path)) return work(() => undefined)
      const parent = callerOf(request)
      const method = METHODS.has(request.method) ? request.method : "_OTHER"
      const name = method === "_OTHER" ? "HTTP" : method
      // A request that a door of the service sends to it is a step of the one that the door answers.
      const kind = trace.getSpan(context.active()) === undefined ? SpanKind.SERVER : SpanKind.INTERNAL
      const span = tracer.startSpan(name, { kind, attributes: { "http.request.method": method } }, parent)
      const note = (route: string | undefined, status: number): void => {
        if (route !== undefined) span.updateName(`${name} ${route}`).setAttribute("http.route", route)
        span.setAttribute("http.response.status_code", status)
        if (status >= 500) fail(span, `${status}`)
      }
      return during(
        span,
        parent,
        () => work(note),
        error => fail(span, kindOf(error)),
      )
    },
  }
}

/** The trace that a caller continues. Of its header `tracestate` nothing is read, because it holds the caller's text. */
function callerOf({ traceparent }: FollowedRequest): Context {
  const active = context.active()
  if (traceparent === undefined || trace.getSpan(active) !== undefined) return active
  const caller = parseTraceParent(traceparent)
  return caller === null ? active : trace.setSpanContext(active, { ...caller, isRemote: true })
}

/** Does work under a span, which ends with it. */
function during<T>(span: Span, parent: Context, work: () => T, failed: (error: unknown) => void): T {
  const end = (error?: unknown): void => {
    if (error !== undefined) failed(error)
    span.end()
  }
  try {
    const made = context.with(trace.setSpan(parent, span), work)
    if (made instanceof Promise) made.then(() => end(), end)
    else end()
    return made
  } catch (error) {
    end(error)
    throw error
  }
}
