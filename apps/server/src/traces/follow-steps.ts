/** Makes spans of the steps of the service. docs/operations.md, "Traces". */
import {
  type Attributes,
  type Context,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api"
import { parseTraceParent } from "@opentelemetry/core"
import type { Facts, FollowedRequest, Follower, Step } from "../followed-steps.ts"

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

export function spansOfSteps(tracer: Tracer): Follower {
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
