/** The receiver of OpenTelemetry. docs/doors/opentelemetry.md. */
import * as v from "valibot"
import { DOCUMENT_MAX_BYTES, described, type Routes, shape } from "../endpoint.ts"

/** As OTLP defines it; unknown members are skipped. */
export const tracesRequestSchema = v.looseObject({})
export const tracesAnswerSchema = v.strictObject({
  /** Only where spans were rejected. */
  partialSuccess: v.exactOptional(
    v.strictObject({
      rejectedSpans: v.pipe(v.string(), v.regex(/^(?:0|[1-9]\d*)$/)),
      errorMessage: v.string(),
    }),
  ),
})

export const TRACE_ROUTES = {
  export_traces: {
    method: "post",
    path: "/v1/traces",
    access: "key",
    limit: "shared",
    body: shape(tracesRequestSchema),
    max_bytes: DOCUMENT_MAX_BYTES,
    answers: { 200: shape(tracesAnswerSchema) },
  },
} as const satisfies Routes

export const TRACE_ENDPOINTS = /* @__PURE__ */ described("OpenTelemetry", TRACE_ROUTES, () => ({
  export_traces: {
    summary: "Spans of OpenTelemetry: those of models and tools become observed runs",
    description:
      "OTLP over HTTP, in protobuf (`application/x-protobuf`) or JSON, compressed with gzip, zstd, deflate or not, answered in the same encoding. A span is sealed once, by its trace id and span id, within 24 hours. Spans that are none of GenAI are accepted and not sealed. 429 and 503 are for the whole request: send it again.",
    body: { example: { resourceSpans: [] } },
    refusals: [403],
    answers: { 200: "Every span was taken but those that it counts as rejected." },
  },
}))
