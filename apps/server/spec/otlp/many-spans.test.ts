/** Requests with as many spans as an exporter sends at most where nothing else is set: docs/doors/opentelemetry.md. */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { EICAR } from "../harness/sample-requests.ts"
import { standingService } from "../harness/test-service.ts"

const SPANS = 512
const TOKENS = 10
/** Runs that a window lets pass: the one that brings its total to the budget is halted. */
const WITHIN = 200
const service = standingService(() => ({ config: { windowTokenBudget: (WITHIN + 1) * TOKENS } }))

let made = 0
/** Spans that none before has, in an order that their routes show. @param tokensOf what the span at a place used; 0: it is of a tool that is denied */
function spansOf(count: number, tokensOf: (at: number) => number = () => 0): readonly JsonObject[] {
  made++
  return Array.from({ length: count }, (_, at) => {
    const name = `${made}-${at}`
    const tokens = tokensOf(at)
    const attributes: Readonly<Record<string, JsonValue>> =
      tokens === 0
        ? {
            "gen_ai.operation.name": { stringValue: "execute_tool" },
            "gen_ai.tool.name": { stringValue: name },
            "gen_ai.tool.call.arguments": { stringValue: EICAR },
          }
        : {
            "gen_ai.operation.name": { stringValue: "chat" },
            "gen_ai.request.model": { stringValue: name },
            "gen_ai.usage.input_tokens": { intValue: `${tokens}` },
          }
    return {
      traceId: made.toString(16).padStart(32, "a"),
      spanId: (at + 1).toString(16).padStart(16, "0"),
      name,
      attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
    }
  })
}

const send = (spans: readonly JsonValue[]) =>
  service().post("/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] })
/** Names of the spans that are sealed since a run, and what was decided, in the order of the log. */
const sealedSince = (last: number) =>
  service().db.read(async ({ sql }) => {
    const rows = await sql<{ run_id: number; route_id: string; outcome_kind: string }[]>`
      select run_id, route_id, outcome_kind from run where run_id > ${last} order by run_id`
    return rows.map(({ route_id, outcome_kind }) => ({ name: route_id.split("/").at(-1), outcome_kind }))
  })
const lastRun = () =>
  service().db.read(async ({ sql }) => {
    const [row] = await sql<{ last: number }[]>`select coalesce(max(run_id), 0)::int as last from run`
    return row?.last ?? 0
  })
const namesOf = (spans: readonly JsonObject[]) => spans.map(({ name }) => name)

describe(`a request of ${SPANS} spans`, () => {
  test("is sealed in the order of its spans, those that charge a window and those that are denied before, and a budget ends where it is used up", async () => {
    const before = await lastRun()
    const spans = spansOf(SPANS, at => (at % 2 === 0 ? TOKENS : 0))
    expect(await send(spans)).toMatchObject({ status: 200, text: "{}" })
    const sealed = await sealedSince(before)
    expect(sealed.map(({ name }) => name)).toEqual(namesOf(spans))
    const charging = sealed.filter((_, at) => at % 2 === 0).map(({ outcome_kind }) => outcome_kind === "ok")
    expect(charging).toEqual(charging.map((_, at) => at < WITHIN))
  })

  test("seals a span that is there twice once, and rejects another one under the ids of a span", async () => {
    const before = await lastRun()
    const spans = spansOf(SPANS - 2)
    const [first = {}, second = {}] = spans
    const answer = await send([...spans, first, { ...second, name: "another", attributes: first.attributes ?? [] }])
    expect(answer).toMatchObject({ status: 200, body: { partialSuccess: { rejectedSpans: "1" } } })
    expect((await sealedSince(before)).map(({ name }) => name)).toEqual(namesOf(spans))
    // Sent again, nothing is sealed, and the answer is the same.
    const again = await send([...spans, first, { ...second, name: "another", attributes: first.attributes ?? [] }])
    expect(again.body).toEqual(answer.body)
    expect(await sealedSince(before)).toHaveLength(spans.length)
  })

  test("of which the database refuses a batch is sent again, and then each span is sealed once", async () => {
    const before = await lastRun()
    const spans = spansOf(SPANS)
    const room = before + SPANS / 2
    await service().db.write(({ orm }) =>
      orm.execute(`alter table run add constraint has_room check (run_id <= ${room})`),
    )
    const refused = await send(spans)
    await service().db.write(({ orm }) => orm.execute("alter table run drop constraint has_room"))
    expect({ status: refused.status, retry: refused.headers.has("Retry-After") }).toEqual({ status: 503, retry: true })
    expect((await sealedSince(before)).length).toBeLessThan(spans.length)
    expect(await send(spans)).toMatchObject({ status: 200, text: "{}" })
    expect((await sealedSince(before)).map(({ name }) => name).sort()).toEqual(namesOf(spans).sort())
  })

  test("that is sent twice at once is sealed once, and at most one of the two has to be sent again", async () => {
    const before = await lastRun()
    const spans = spansOf(SPANS)
    const statuses = (await Promise.all([send(spans), send(spans)])).map(({ status }) => status).sort()
    expect([
      [200, 200],
      [200, 503],
      [503, 503],
    ]).toContainEqual(statuses)
    expect((await send(spans)).status).toBe(200)
    expect((await sealedSince(before)).map(({ name }) => name).sort()).toEqual(namesOf(spans).sort())
  })
})
