/** Reads a request of OTLP, in either encoding, as the spans in it. */
import { encodeHex, isJsonValue, type JsonObject, type JsonValue } from "@runseal/canonical"
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import * as v from "valibot"

/** Deepest nesting of attribute values. */
const VALUE_MAX_DEPTH = 16

const opt = v.nullish
/** Half a character, as at the end of a text that was cut, is read as U+FFFD. */
const textSchema = v.pipe(
  v.string(),
  v.transform(text => text.toWellFormed()),
)
const list = <Item extends v.GenericSchema>(item: Item) => v.optional(v.nullable(v.array(item)))

/** An id: hex in JSON, bytes in protobuf. */
const idSchema = (bytes: number) =>
  v.pipe(
    v.union([
      v.pipe(
        v.string(),
        v.transform(text => text.toLowerCase()),
      ),
      v.pipe(
        v.instance(Uint8Array),
        v.length(bytes),
        v.transform(id => encodeHex(id)),
      ),
    ]),
    v.regex(new RegExp(`^(?!0+$)[0-9a-f]{${bytes * 2}}$`), `must be an id of ${bytes} bytes that is not zero`),
  )
/** 64 bits: a decimal text, or a number. */
const nanosSchema = v.pipe(v.union([v.string(), v.number()]), v.transform(String), v.regex(/^\d{1,20}$/))

const keyValueSchema = v.object({ key: textSchema, value: opt(v.unknown()) })
const spanSchema = v.object({
  traceId: idSchema(16),
  spanId: idSchema(8),
  parentSpanId: opt(v.unknown()),
  name: opt(textSchema),
  startTimeUnixNano: opt(nanosSchema),
  endTimeUnixNano: opt(nanosSchema),
  attributes: list(keyValueSchema),
  status: opt(v.object({ code: opt(v.union([v.number(), v.string()])) })),
})
const requestSchema = v.object({
  resourceSpans: list(
    v.object({
      resource: opt(v.object({ attributes: list(keyValueSchema) })),
      scopeSpans: list(v.object({ spans: list(v.unknown()) })),
    }),
  ),
})

/** A span, with what its resource says of the service that made it. */
export type Span = {
  readonly trace_id: string
  readonly span_id: string
  readonly name: string
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: JsonObject
  readonly resource: JsonObject
  readonly failed: boolean
}

/** Spans in the order of the request; undefined in the place of one that cannot be read. */
type ReadSpans = readonly (Span | undefined)[]

/** @returns undefined for what is no request of OTLP */
export function readSpans(request: unknown): ReadSpans | undefined {
  // A list is an object to JavaScript, and so to valibot.
  if (Array.isArray(request)) return undefined
  const parsed = v.safeParse(requestSchema, request, FIRST_ISSUE)
  if (!parsed.success) return undefined
  return (parsed.output.resourceSpans ?? []).flatMap(({ resource, scopeSpans }) => {
    const of = attributesOf(resource?.attributes)
    return (scopeSpans ?? []).flatMap(({ spans }) => (spans ?? []).map(span => readSpan(span, of)))
  })
}

function readSpan(value: unknown, resource: JsonObject): Span | undefined {
  const parsed = v.safeParse(spanSchema, value, FIRST_ISSUE)
  if (!parsed.success) return undefined
  const { traceId, spanId, name, startTimeUnixNano, endTimeUnixNano, attributes, status } = parsed.output
  return {
    trace_id: traceId,
    span_id: spanId,
    name: name ?? "",
    start: BigInt(startTimeUnixNano ?? 0),
    end: BigInt(endTimeUnixNano ?? 0),
    attributes: attributesOf(attributes),
    resource,
    failed: status?.code === 2 || status?.code === "STATUS_CODE_ERROR",
  }
}

type KeyValues = readonly v.InferOutput<typeof keyValueSchema>[] | null | undefined

/** Attributes by their names; one whose value has no form in JSON is left out. */
function attributesOf(pairs: KeyValues, depth = 0): JsonObject {
  const found: Record<string, JsonValue> = Object.create(null)
  for (const { key, value } of pairs ?? []) {
    const plain = plainValue(value, depth)
    if (plain !== undefined) found[key] = plain
  }
  return { ...found }
}

const anySchema = v.object({
  stringValue: opt(textSchema),
  boolValue: opt(v.boolean()),
  intValue: opt(v.union([v.string(), v.number()])),
  doubleValue: opt(v.number()),
  arrayValue: opt(v.object({ values: list(v.unknown()) })),
  kvlistValue: opt(v.object({ values: list(keyValueSchema) })),
})

function plainValue(value: unknown, depth: number): JsonValue | undefined {
  const parsed = v.safeParse(anySchema, value, FIRST_ISSUE)
  if (!parsed.success || depth > VALUE_MAX_DEPTH) return undefined
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue } = parsed.output
  if (arrayValue) return (arrayValue.values ?? []).flatMap(item => plainValue(item, depth + 1) ?? [])
  if (kvlistValue) return attributesOf(kvlistValue.values, depth + 1)
  const plain = stringValue ?? boolValue ?? integerOf(intValue) ?? doubleValue
  return plain !== null && plain !== undefined && isJsonValue(plain) ? plain : undefined
}

/** One that no number of JSON carries is its text. */
function integerOf(value: string | number | null | undefined): string | number | undefined {
  if (value === null || value === undefined) return undefined
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}
