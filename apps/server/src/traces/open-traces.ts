/** Exports traces of this service by OTLP. This module and its packages are loaded only where an address to export to is set. */
import { context } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { parseKeyPairsIntoRecord } from "@opentelemetry/core"
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
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace"
import { followSteps } from "../followed-steps.ts"
import { SERVICE_NAME, SERVICE_VERSION } from "../options/config.ts"
import type { TracesSettings } from "../options/traces-settings.ts"
import type { Telemetry } from "../telemetry.ts"
import { countedExport } from "./counted-export.ts"
import { spansOfSteps } from "./follow-steps.ts"

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
