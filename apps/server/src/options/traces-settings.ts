/**
 * Where and how the service exports traces of itself: the variables of the OpenTelemetry specification, and no options of its own. What is
 * not here, such as the timeout and the certificates of the exporter, its own package reads.
 */
import { FIRST_ISSUE } from "@runseal/core/artifacts/parse-exact"
import * as v from "valibot"
import { StartupError } from "./startup-error.ts"

export const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const

/** Spans that wait for the collector: more would be memory that a collector that is down holds. */
const MAX_QUEUE = 65_536
const MAX_DELAY_MS = 600_000

const isAddress = (text: string): boolean => ["http:", "https:"].includes(URL.parse(text)?.protocol ?? "")
const ADDRESS = v.optional(v.pipe(v.string(), v.check(isAddress, "must be an http or https address")))
const PROTOCOL = v.optional(v.literal("http/protobuf", "must be http/protobuf: the service speaks no other protocol"))

const whole = (most: number, fallback: string) =>
  v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,9}$/, `must be an integer from 1 to ${most}`),
      v.transform(Number),
      v.check(value => value >= 1 && value <= most, `must be an integer from 1 to ${most}`),
    ),
    fallback,
  )
const RATIO = v.pipe(
  v.string(),
  v.regex(/^(?:0|1|0?\.\d{1,9}|1\.0|0\.0)$/, "must be a number from 0 to 1"),
  v.transform(Number),
)

const VARIABLES = v.object({
  OTEL_SDK_DISABLED: v.optional(v.string()),
  OTEL_TRACES_EXPORTER: v.optional(v.picklist(["otlp", "none"], "must be otlp or none"), "otlp"),
  OTEL_EXPORTER_OTLP_ENDPOINT: ADDRESS,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ADDRESS,
  OTEL_EXPORTER_OTLP_PROTOCOL: PROTOCOL,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: PROTOCOL,
  OTEL_EXPORTER_OTLP_HEADERS: v.optional(v.string()),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: v.optional(v.string()),
  OTEL_TRACES_SAMPLER: v.optional(
    v.picklist(SAMPLERS, `must be one of ${SAMPLERS.join(", ")}`),
    "parentbased_always_on",
  ),
  OTEL_TRACES_SAMPLER_ARG: v.optional(RATIO, "1"),
  OTEL_BSP_SCHEDULE_DELAY: whole(MAX_DELAY_MS, "5000"),
  OTEL_BSP_EXPORT_TIMEOUT: whole(MAX_DELAY_MS, "30000"),
  OTEL_BSP_MAX_QUEUE_SIZE: whole(MAX_QUEUE, "2048"),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: whole(MAX_QUEUE, "512"),
})

export type TracesSettings = {
  readonly sampler: (typeof SAMPLERS)[number]
  /** Of the ratio samplers, from 0 to 1. */
  readonly ratio: number
  /** Spans that may wait for the collector; one more is dropped. */
  readonly queue: number
  readonly batch: number
  /** Between two exports, in milliseconds. */
  readonly delayMs: number
  /** Of one export, in milliseconds. */
  readonly timeoutMs: number
  /** Headers of each request, as the variables have them: secrets. */
  readonly headers: readonly string[]
}

/** @returns undefined where no traces are exported. @throws StartupError with one sentence for a variable that cannot be used */
export function readTracesSettings(env: Readonly<Record<string, string | undefined>>): TracesSettings | undefined {
  // For OpenTelemetry an empty variable is one that is not set.
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== "")
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none"
  if (isOff || !given.some(([name]) => /^OTEL_EXPORTER_OTLP_(?:TRACES_)?ENDPOINT$/.test(name))) return undefined
  const parsed = v.safeParse(VARIABLES, Object.fromEntries(given), FIRST_ISSUE)
  if (!parsed.success) {
    const [issue] = parsed.issues
    throw new StartupError(`${issue.path?.[0].key} ${issue.message}`)
  }
  const read = parsed.output
  return {
    sampler: read.OTEL_TRACES_SAMPLER,
    ratio: read.OTEL_TRACES_SAMPLER_ARG,
    queue: read.OTEL_BSP_MAX_QUEUE_SIZE,
    batch: Math.min(read.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, read.OTEL_BSP_MAX_QUEUE_SIZE),
    delayMs: read.OTEL_BSP_SCHEDULE_DELAY,
    timeoutMs: read.OTEL_BSP_EXPORT_TIMEOUT,
    headers: [read.OTEL_EXPORTER_OTLP_HEADERS, read.OTEL_EXPORTER_OTLP_TRACES_HEADERS].flatMap(text => text ?? []),
  }
}
