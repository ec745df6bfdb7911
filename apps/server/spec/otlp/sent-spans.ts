/** Spans as a program makes them, sent by an exporter of OpenTelemetry. */
import type { Attributes, SpanStatusCode } from "@opentelemetry/api"
import { InMemorySpanExporter, SimpleSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace"

type MadeSpan = { readonly name: string; readonly attributes: Attributes; readonly status?: SpanStatusCode }

/** What the exporter says of a request. */
type Sent = { readonly error: Error | undefined }

/** Makes these spans and sends them in one request. @returns how to send the same ones once more */
export async function exportSpans(
  exporter: SpanExporter,
  spans: readonly MadeSpan[],
): Promise<Sent & { readonly again: () => Promise<Sent> }> {
  const memory = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: memory })] })
  for (const { name, attributes, status } of spans) {
    const span = provider.getTracer("test").startSpan(name, { attributes })
    if (status !== undefined) span.setStatus({ code: status })
    span.end()
  }
  await provider.forceFlush()
  const made = memory.getFinishedSpans()
  const send = (): Promise<Sent> =>
    new Promise(resolve => exporter.export([...made], ({ error }) => resolve({ error })))
  return { ...(await send()), again: send }
}
