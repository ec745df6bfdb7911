/** Requests with more spans than their key may send in a minute: docs/doors/opentelemetry.md, "What is refused". */
import type { JsonValue } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { WINDOW_MS } from "../../src/http/access/request-counter.ts"
import { standingService } from "../harness/test-service.ts"

const LIMIT = 20
const service = standingService(() => ({ config: { rateLimit: LIMIT, anonymousRateLimit: LIMIT } }))

const spanOf = (at: number, tokens = 1): JsonValue => ({
  traceId: at.toString(16).padStart(32, "a"),
  spanId: at.toString(16).padStart(16, "b"),
  name: "chat model-1",
  attributes: [
    { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
    // A name with U+0000 is refused as a member of a run.
    { key: "gen_ai.system", value: { stringValue: tokens === 0 ? "\u0000" : "example" } },
  ],
})
const send = (spans: readonly JsonValue[]) =>
  service().post("/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] })

describe("a request with more spans than a minute allows", () => {
  test("is sealed over some minutes, as the exporter repeats it", async () => {
    const spans = Array.from({ length: 3 * LIMIT }, (_, at) => spanOf(at, at % LIMIT))
    const statuses: number[] = []
    let answer = await send(spans)
    while (answer.status === 429 && statuses.length < 6) {
      statuses.push(answer.status)
      expect(Number(answer.headers.get("Retry-After"))).toBeLessThanOrEqual(WINDOW_MS / 1000)
      service().clock.advance(WINDOW_MS)
      answer = await send(spans)
    }
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ partialSuccess: { rejectedSpans: "3" } })
    service().clock.advance(WINDOW_MS)
    expect((await service().get("/runs?limit=1")).body.total).toBe(spans.length - 3)
  })
})
