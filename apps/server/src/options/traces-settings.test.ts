import { describe, expect, test } from "vitest"
import { StartupError } from "./startup-error.ts"
import { readTracesSettings } from "./traces-settings.ts"

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }

describe("traces are exported", () => {
  test("where either address is set, by the defaults of the specification", () => {
    const defaults = {
      sampler: "parentbased_always_on",
      ratio: 1,
      queue: 2048,
      batch: 512,
      delayMs: 5000,
      timeoutMs: 30_000,
      headers: [],
    }
    expect(readTracesSettings(ENDPOINT)).toEqual(defaults)
    expect(readTracesSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/v1/traces" })).toEqual(defaults)
  })

  test("by the sampler, queue and headers that are given", () => {
    const given = {
      ...ENDPOINT,
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_BSP_MAX_QUEUE_SIZE: "100",
      OTEL_EXPORTER_OTLP_HEADERS: "a=1",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "b=2",
    }
    expect(readTracesSettings(given)).toMatchObject({ ratio: 0.25, queue: 100, batch: 100, headers: ["a=1", "b=2"] })
  })

  test.each([
    ["no address", {}],
    ["an empty address", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
    ["the SDK disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }],
    ["no exporter", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
  ])("not with %s", (_, env) => {
    expect(readTracesSettings(env)).toBeUndefined()
  })
})

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "must be an http or https address"],
  ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc", "must be http/protobuf: the service speaks no other protocol"],
  ["OTEL_TRACES_EXPORTER", "zipkin", "must be otlp or none"],
  ["OTEL_TRACES_SAMPLER_ARG", "1.5", "must be a number from 0 to 1"],
  ["OTEL_BSP_MAX_QUEUE_SIZE", "0", "must be an integer from 1 to 65536"],
  ["OTEL_BSP_SCHEDULE_DELAY", "1s", "must be an integer from 1 to 600000"],
])("%s=%s is refused", (name, value, reason) => {
  const read = () => readTracesSettings({ ...ENDPOINT, [name]: value })
  expect(read).toThrow(new StartupError(`${name} ${reason}`))
})
