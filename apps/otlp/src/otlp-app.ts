/** `POST /v1/traces`: a receiver of OTLP over HTTP, whose GenAI spans become observed runs. docs/doors/opentelemetry.md. */
import { setImmediate } from "node:timers/promises"
import { canonicalize, digest, type JsonObject, readStrictJson } from "@runseal/canonical"
import { isObject, textMember } from "@runseal/core/vocabulary/json-members"
import { IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_REPLAYED_HEADER } from "@runseal/core/wire/idempotency-key"
import type { Context } from "hono"
import protobuf from "protobufjs/light.js"
import { isUnknown, operationOf } from "./conventions.ts"
import { runOf } from "./genai-spans.ts"
import { readSpans, type Span } from "./trace-request.ts"

/** What became of spans: sealed now, sealed before, of no model and no tool, perhaps of one in words that are not known here, refused. */
export type SpanFate = "sealed" | "repeated" | "other" | "unknown" | "rejected"

/** A request's body, unpacked and within the service's bounds. */
type TraceBody = { readonly encoding: "protobuf" | "json"; readonly bytes: Uint8Array }

/** The service: answers a request as if it came over the socket of `env`. */
type Send = (request: Request, env?: unknown) => Promise<Response>

export type OtlpParts = {
  /** A way to the service for the requests of one body: what they make is sealed in the order in which they are sent. */
  readonly inOrder: () => Send
  /**
   * Rejects with the service's refusal.
   * @param fieldsOf how many fields a body in protobuf has; the second argument if there are more
   */
  readonly read: (c: Context, fieldsOf: (bytes: Uint8Array, most: number) => number) => Promise<TraceBody>
  /** The service's refusal of a body that is no request of OTLP. */
  readonly refusal: (sentence: string) => Error
  /** The service's answer that a request be sent again. */
  readonly retry: (sentence: string) => Error
  readonly count: (fate: SpanFate, spans: number) => void
}

/** Most GenAI spans of one request: exporters send some hundred at a time. The size of a request bounds those of other kinds. */
export const SPANS_MAX = 4096
/** Most spans of one request under way at a time. Those that waited for one statement go on together, which holds the event loop. */
const AT_ONCE = 64
/** Longest that spans are sent without a break for the event loop, in milliseconds. */
const SLICE_MS = 5
/** Headers that say who sends it and whose request it is. */
const PASSED_ON = ["x-service-key", "x-forwarded-for", "forwarded", "user-agent", "cookie", "x-csrf-token"]
/** Statuses of a refusal that has its reason in the credential, in a limit or in the service. For any other the reason is the span. */
const OF_THE_REQUEST: readonly number[] = [401, 403, 429, 503]
/** Code of a refusal because the same span is sealed for another request at this moment. */
const UNDER_WAY = "request_in_progress"

/** Answers `POST /v1/traces`. */
export function traceHandler(given: OtlpParts): (c: Context) => Promise<Response> {
  const parts: SendParts = { ...given, settled: createSettledSpans() }
  return async c => {
    const { encoding, bytes } = await parts.read(c, countFields)
    const request = decoded(encoding, bytes)
    const spans = readSpans(request)
    if (isSnakeCase(request)) throw parts.refusal(SNAKE_CASE)
    if (spans === undefined) throw parts.refusal("The body is no ExportTraceServiceRequest of OTLP.")
    const readable = spans.filter(span => span !== undefined)
    const unreadable = spans.length - readable.length
    const genAi = readable.filter(({ attributes }) => operationOf(attributes) !== undefined)
    const unknown = readable.filter(({ attributes }) => isUnknown(attributes)).length
    if (genAi.length > SPANS_MAX) throw parts.refusal(`The request has more than ${SPANS_MAX} GenAI spans.`)
    const sent = await sendAll(parts, c, genAi)
    parts.count("other", readable.length - genAi.length - unknown)
    parts.count("unknown", unknown)
    parts.count("rejected", unreadable)
    for (const { fate } of sent) if (fate !== undefined) parts.count(fate, 1)
    // The exporter sends all of them again, and those that are sealed are found by their ids.
    const passing = sent.find(({ passing }) => passing !== undefined)?.passing
    note(parts, sent, passing !== undefined)
    if (passing instanceof Error) throw passing
    if (passing !== undefined) return passing
    const refused = sent.flatMap(({ refused }) => refused ?? [])
    return answer(c, encoding, partialSuccess(unreadable, refused, unknown))
  }
}

/** Of such a body no span would be read, and its sender would not learn it. */
const isSnakeCase = (request: unknown): boolean =>
  typeof request === "object" && request !== null && "resource_spans" in request
const SNAKE_CASE =
  "The body has resource_spans: in JSON the names of OTLP are written in lowerCamelCase, resourceSpans."

/** JSON as other programs write it: with numbers of 64 bits, and texts that were cut within a character. */
function decoded(encoding: TraceBody["encoding"], bytes: Uint8Array): unknown {
  try {
    return encoding === "protobuf" ? fromProtobuf(bytes) : JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/** What came of a span that has its own answer. */
type Settled = { readonly fate: SpanFate; readonly refused?: string }
/**
 * What came of one span. `passing`: an answer to all of them, such as that the key is unknown, or that the service is overloaded. `id`: of this span, sent
 * by this caller.
 */
type Sent = Partial<Settled> & { readonly id?: string; readonly passing?: Response | Error }
type SendParts = OtlpParts & { readonly settled: SettledSpans<Settled> }

/** Remembers what came of the spans until the request is sent again and answered. */
function note({ settled }: SendParts, sent: readonly Sent[], comesAgain: boolean): void {
  for (const { id, fate, refused } of sent) {
    if (id === undefined || fate === undefined) continue
    if (comesAgain) settled.remember(id, refused === undefined ? { fate: "repeated" } : { fate, refused })
    else settled.forget(id)
  }
}

/**
 * Sends spans in their order, each as soon as fewer than `AT_ONCE` are under way, so that the batches of the service are full. Those that have the
 * same ids are sent one after the other: the service refuses a second one that is under way.
 */
async function sendAll(parts: SendParts, c: Context, spans: readonly Span[]): Promise<readonly Sent[]> {
  const service = parts.inOrder()
  const sent: Promise<Sent>[] = []
  const byKey = new Map<string, Promise<Sent>>()
  const underWay = new Set<Promise<void>>()
  let isOver = false
  let sliceEnd = performance.now() + SLICE_MS
  for (const span of spans) {
    if (underWay.size >= AT_ONCE) await Promise.race(underWay)
    if (performance.now() >= sliceEnd) {
      await setImmediate()
      sliceEnd = performance.now() + SLICE_MS
    }
    if (isOver) break
    const key = keyOf(span)
    const before = byKey.get(key)
    const sendNow = () => send(parts, c, service, span)
    const one = before === undefined ? sendNow() : before.then(sendNow)
    const settled: Promise<void> = one
      .then(
        ({ passing }) => passing !== undefined,
        () => true,
      )
      .then(ends => {
        isOver ||= ends
        underWay.delete(settled)
      })
    underWay.add(settled)
    byKey.set(key, one)
    sent.push(one)
  }
  return Promise.all(sent)
}

/** The idempotency key of a span. */
const keyOf = ({ trace_id, span_id }: Span): string => `"otlp-${trace_id}-${span_id}"`

async function send(parts: SendParts, c: Context, service: Send, span: Span): Promise<Sent> {
  const run = runOf(span)
  if (typeof run === "string") return { fate: "rejected", refused: run }
  const body = canonicalize(run)
  const id = digest([c.req.header("x-service-key") ?? "", c.req.header("cookie") ?? "", body])
  return { ...(parts.settled.find(id) ?? (await execute(parts, c, service, keyOf(span), body))), id }
}

async function execute(
  { retry }: Pick<SendParts, "retry">,
  c: Context,
  service: Send,
  key: string,
  body: string,
): Promise<Settled | Required<Pick<Sent, "passing">>> {
  const passed = PASSED_ON.flatMap(name => {
    const value = c.req.header(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const headers = { ...Object.fromEntries(passed), "Content-Type": "application/json", [IDEMPOTENCY_KEY_HEADER]: key }
  const request = new Request(new URL("/execute", c.req.url), { method: "POST", headers, body })
  const response = await service(request, c.env)
  if (OF_THE_REQUEST.includes(response.status)) return { passing: response }
  const read = readStrictJson(await response.text())
  const answered: JsonObject = isObject(read) ? read : {}
  if (answered.run_id !== undefined)
    return { fate: response.headers.has(IDEMPOTENCY_REPLAYED_HEADER) ? "repeated" : "sealed" }
  if (textMember(answered, "code") === UNDER_WAY)
    return { passing: retry("A span is being sealed for another request; send this one again.") }
  return { fate: "rejected", refused: textMember(answered, "error") ?? "" }
}

/** A message without a rejected span is a warning of OTLP: nothing is sent again. */
function partialSuccess(unreadable: number, refused: readonly string[], unknown: number): PartialSuccess | undefined {
  const rejectedSpans = unreadable + refused.length
  if (rejectedSpans === 0 && unknown === 0) return undefined
  if (rejectedSpans === 0)
    return {
      rejectedSpans,
      errorMessage: `${unknown} spans are not sealed: no attribute that is known here says what model or tool they are of.`,
    }
  return { rejectedSpans, errorMessage: refused[0] ?? "A span has no id, or attributes of another form." }
}

function answer(c: Context, encoding: TraceBody["encoding"], partial: PartialSuccess | undefined): Response {
  if (encoding === "protobuf") return c.body(toProtobuf(partial), 200, { "Content-Type": "application/x-protobuf" })
  // 64-bit numbers are decimal texts in the JSON of protobuf.
  return c.json(
    partial === undefined ? {} : { partialSuccess: { ...partial, rejectedSpans: `${partial.rejectedSpans}` } },
  )
}

// What came of the spans of requests that were refused as a whole. Each span counts against its caller's rate limit, also one that was sealed
// before: without this, a request with more spans than a minute allows would reach the limit at the same place however often it is sent.

/** Most spans that one process remembers; the oldest are forgotten, and are then found by their idempotency keys. */
const REMEMBERED_MAX = 65_536

type SettledSpans<Fate> = {
  readonly find: (id: string) => Fate | undefined
  readonly remember: (id: string, fate: Fate) => void
  readonly forget: (id: string) => void
}

/** @returns an empty memory, by ids of the caller's choice */
function createSettledSpans<Fate>(most: number = REMEMBERED_MAX): SettledSpans<Fate> {
  const fates = new Map<string, Fate>()
  return {
    find: id => fates.get(id),
    remember: (id, fate) => {
      fates.delete(id)
      fates.set(id, fate)
      const [oldest] = fates.keys()
      if (fates.size > most && oldest !== undefined) fates.delete(oldest)
    },
    forget: id => void fates.delete(id),
  }
}

// The messages of OTLP that are read, by the field numbers of opentelemetry-proto 1.x (`trace/v1/trace.proto`, `common/v1/common.proto`,
// `resource/v1/resource.proto`, `collector/trace/v1/trace_service.proto`). Fields that are not named here are skipped.

/** A text that was cut within a character, as by a limit of bytes. What is no UTF-8 is read as U+FFFD, so that no span beside it is lost. */
const TEXT = { type: "string", options: { features: { utf8_validation: "NONE" } } }

const root = protobuf.Root.fromJSON({
  nested: {
    AnyValue: {
      oneofs: {
        value: { oneof: ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue"] },
      },
      fields: {
        stringValue: { ...TEXT, id: 1 },
        boolValue: { type: "bool", id: 2 },
        intValue: { type: "int64", id: 3 },
        doubleValue: { type: "double", id: 4 },
        arrayValue: { type: "ArrayValue", id: 5 },
        kvlistValue: { type: "KeyValueList", id: 6 },
      },
    },
    ArrayValue: { fields: { values: { rule: "repeated", type: "AnyValue", id: 1 } } },
    KeyValueList: { fields: { values: { rule: "repeated", type: "KeyValue", id: 1 } } },
    KeyValue: { fields: { key: { ...TEXT, id: 1 }, value: { type: "AnyValue", id: 2 } } },
    Resource: { fields: { attributes: { rule: "repeated", type: "KeyValue", id: 1 } } },
    Status: { fields: { code: { type: "int32", id: 3 } } },
    Span: {
      fields: {
        traceId: { type: "bytes", id: 1 },
        spanId: { type: "bytes", id: 2 },
        parentSpanId: { type: "bytes", id: 4 },
        name: { ...TEXT, id: 5 },
        startTimeUnixNano: { type: "fixed64", id: 7 },
        endTimeUnixNano: { type: "fixed64", id: 8 },
        attributes: { rule: "repeated", type: "KeyValue", id: 9 },
        status: { type: "Status", id: 15 },
      },
    },
    ScopeSpans: { fields: { spans: { rule: "repeated", type: "Span", id: 2 } } },
    ResourceSpans: {
      fields: {
        resource: { type: "Resource", id: 1 },
        scopeSpans: { rule: "repeated", type: "ScopeSpans", id: 2 },
      },
    },
    ExportTraceServiceRequest: { fields: { resourceSpans: { rule: "repeated", type: "ResourceSpans", id: 1 } } },
    ExportTracePartialSuccess: {
      fields: { rejectedSpans: { type: "int64", id: 1 }, errorMessage: { type: "string", id: 2 } },
    },
    ExportTraceServiceResponse: { fields: { partialSuccess: { type: "ExportTracePartialSuccess", id: 1 } } },
  },
})
root.resolveAll()
const REQUEST = root.lookupType("ExportTraceServiceRequest")
const RESPONSE = root.lookupType("ExportTraceServiceResponse")

/** The type of the length-delimited fields, which messages are. */
const LENGTH_DELIMITED = 2

/**
 * How many fields of a request are read, before it is: each becomes a value. Bytes that are no request are counted as far as they can be.
 * @returns `most` where there are more
 */
function countFields(bytes: Uint8Array, most: number): number {
  const reader = protobuf.Reader.create(bytes)
  const within: { readonly type: protobuf.Type; readonly end: number }[] = [{ type: REQUEST, end: bytes.length }]
  let fields = 0
  try {
    for (let message = within.at(-1); message !== undefined && fields < most; message = within.at(-1)) {
      if (reader.pos >= message.end) {
        within.pop()
        continue
      }
      const tag = reader.uint32()
      const field = message.type.fieldsById[tag >>> 3]
      if (field !== undefined) fields++
      if (field?.resolvedType instanceof protobuf.Type && (tag & 7) === LENGTH_DELIMITED) {
        const length = reader.uint32()
        within.push({ type: field.resolvedType, end: reader.pos + length })
      } else reader.skipType(tag & 7)
    }
  } catch {
    // What is no message of protobuf is refused when it is decoded.
  }
  return fields
}

/** The request in the form that OTLP has in JSON, but for ids, which are bytes: 64-bit numbers are decimal texts. @throws Error for bytes that are none */
function fromProtobuf(bytes: Uint8Array): unknown {
  return REQUEST.toObject(REQUEST.decode(bytes), { longs: String })
}

type PartialSuccess = { readonly rejectedSpans: number; readonly errorMessage: string }

const toProtobuf = (partialSuccess: PartialSuccess | undefined): Uint8Array<ArrayBuffer> =>
  new Uint8Array(RESPONSE.encode(RESPONSE.fromObject(partialSuccess === undefined ? {} : { partialSuccess })).finish())
