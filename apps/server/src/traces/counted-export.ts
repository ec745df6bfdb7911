/** The queue of spans in front of the collector, with every span counted: exported, refused by the collector, or dropped because the queue was full. */

import { TraceFlags } from "@opentelemetry/api"
import { ExportResultCode } from "@opentelemetry/core"
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from "@opentelemetry/sdk-trace"
import type { TracesSettings } from "../options/traces-settings.ts"
import type { Telemetry } from "../telemetry.ts"

type Counted = {
  readonly exporter: SpanExporter
  readonly settings: TracesSettings
  readonly telemetry: Pick<Telemetry, "ownSpans" | "collectorChanged">
}

/** The package drops what its queue cannot hold and tells nobody: so the length of its queue is counted here, and what it would drop is. */
export function countedExport({ exporter, settings, telemetry }: Counted): SpanProcessor {
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
