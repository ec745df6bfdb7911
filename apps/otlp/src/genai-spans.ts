/** What a span of a model or a tool is as an observed run. docs/doors/opentelemetry.md. */
import { canonicalize, digest, type JsonObject, type JsonValue } from "@runseal/canonical"
import { sha256Schema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import { contentOf, factOf, operationOf } from "./conventions.ts"
import type { Span } from "./trace-request.ts"

const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined
const DECIMAL = /^\d{1,20}$/
/** A count of tokens that no number of JSON carries is there as its text. */
const isBeyondCounts = (value: JsonValue | undefined): boolean =>
  typeof value === "string" && DECIMAL.test(value) && Number(value) > Number.MAX_SAFE_INTEGER
/** Some programs write counts as texts. */
function countOf(value: JsonValue | undefined): number | undefined {
  const count = typeof value === "string" && DECIMAL.test(value) ? Number(value) : value
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}
const hashOf = (value: JsonValue | undefined): string | undefined => (v.is(sha256Schema, value) ? value : undefined)
/** U+0000 is accepted in no declared text. */
const clean = (text: string): string => text.replaceAll("\u0000", "")
/** Longest part of a route that comes from a span, in characters. */
const NAME_MAX_LENGTH = 200
/** Longest name or version of a service, in UTF-16 units: it is in the run of each span of its resource. */
const SERVICE_MAX_LENGTH = 1_024

/** The members that are there. */
function present(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/**
 * The body of `POST /execute`. It follows from the span alone, so that a span that is sent twice is one run.
 * @returns a sentence for a span of which no run is made, such as one whose tokens JSON does not carry: no budget would count it
 */
export function runOf(span: Span): JsonObject | string {
  const request_substance = substance(span)
  if (request_substance === undefined) return "The tokens of a span are more than 2^53 − 1 together."
  const { attributes, resource, trace_id, span_id } = span
  const operation = operationOf(attributes) ?? ""
  const isTool = operation === "execute_tool"
  const service = present({ name: textOf(resource["service.name"]), version: textOf(resource["service.version"]) })
  if (Object.values(service).some(text => `${text}`.length > SERVICE_MAX_LENGTH))
    return `The name or version of a service has more than ${SERVICE_MAX_LENGTH} characters.`
  const agent = textOf(factOf(attributes, "agent"))
  const program = present({ door: "otlp", service, agent })
  const model = textOf(factOf(attributes, "model"))
  const tool = textOf(factOf(attributes, "tool")) ?? span.name
  // A character has one or two UTF-16 units.
  const start = clean(isTool ? tool : (model ?? span.name)).slice(0, 2 * NAME_MAX_LENGTH)
  const named = [...start].slice(0, NAME_MAX_LENGTH).join("")
  const input = isTool ? factOf(attributes, "tool_arguments") : contentOf(attributes, "input")
  const output = isTool ? factOf(attributes, "tool_result") : contentOf(attributes, "output")
  const ran = isTool ? present({ tool, arguments: input }) : present({ model, input })
  return present({
    program_id: hashOf(resource["runseal.program_id"]) ?? digest(program),
    registry_record_hash: hashOf(resource["runseal.registry_record_hash"]) ?? digest(program),
    route_id: `otlp/${operation}/${named === "" ? "unnamed" : named}`,
    payload: canonicalize(ran),
    ai_output_text: output === undefined ? undefined : typeof output === "string" ? output : canonicalize(output),
    attested_context: attested(span, model, isTool),
    request_substance,
    causal_graph: isTool ? effects(span, clean(tool)) : undefined,
    reproducibility_context: { trace_id, span_id, service, operation },
    enforcement: "observe",
  })
}

/** What a tool is traced by is no provider of a model. */
function attested(span: Span, model: string | undefined, isTool: boolean): JsonObject {
  const { attributes } = span
  const actor = textOf(factOf(attributes, "actor"))
  return present({
    actor_id: actor && clean(actor),
    model_provider: isTool ? undefined : textOf(factOf(attributes, "provider")),
    model_name: model,
    model_version: textOf(factOf(attributes, "answering_model")),
  })
}

function substance(span: Span): JsonObject | undefined {
  const input = factOf(span.attributes, "input_tokens")
  const output = factOf(span.attributes, "output_tokens")
  if (isBeyondCounts(input) || isBeyondCounts(output)) return undefined
  const [input_tokens, output_tokens] = [countOf(input), countOf(output)]
  const isCounted = input_tokens !== undefined || output_tokens !== undefined
  const total_tokens = isCounted ? (input_tokens ?? 0) + (output_tokens ?? 0) : undefined
  if (total_tokens !== undefined && !Number.isSafeInteger(total_tokens)) return undefined
  const ms = Number((span.end - span.start) / 1000n) / 1000
  return present({
    cost: isCounted ? present({ input_tokens, output_tokens, total_tokens }) : undefined,
    latency: span.end > span.start ? ms : undefined,
  })
}

const effects = (span: Span, target: string): JsonObject => ({
  effect_log: [
    {
      effect_kind: "tool_call",
      target,
      status: span.failed || span.attributes["error.type"] !== undefined ? "failed" : "completed",
      ...(span.start > 0n ? { issued_at: timeOf(span.start) } : {}),
    },
  ],
})

/** RFC 3339, to the millisecond; a time beyond what a date holds is the epoch's. */
function timeOf(nanos: bigint): string {
  const date = new Date(Number(nanos / 1_000_000n))
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString()
}
