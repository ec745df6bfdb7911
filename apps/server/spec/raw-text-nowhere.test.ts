/** docs/formats.md sections 2.1 and 3.10: raw payload, raw AI output and a reviewer's words are never stored, logged or echoed. */
import type { JsonObject } from "@runseal/canonical"
import { afterAll, beforeAll, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import type { Answer } from "./harness/read-answer.ts"
import { REVIEWER_PROSE, type ReviewStub, startReviewStub } from "./harness/review-stub.ts"
import { EICAR, request, spending } from "./harness/sample-requests.ts"
import { dumpTables, spellings } from "./harness/spellings.ts"
import { standingService } from "./harness/test-service.ts"

const PAYLOAD = 'payload-canary "5d20" <&> ü'
const OUTPUT = 'output-canary "a8f1" <&> ü'
const DECLARED = "declared-canary-77e0"
const ROUTE = "route-canary-c4d9"
const API_KEY = "sk-canary-reviewer-key-0b6e"

/** The first word alone would show as well: a cut, a trimmed or a re-encoded text still holds it. */
const secrets = [PAYLOAD, OUTPUT, REVIEWER_PROSE, API_KEY].flatMap(text => [
  ...spellings(text),
  ...spellings(text.split(" ")[0]!),
])

let stub: ReviewStub | undefined
beforeAll(async () => {
  stub = await startReviewStub()
})
afterAll(() => stub?.close())

eachDatabase("raw text", open => {
  const service = standingService(() => ({
    open,
    config: {
      reviewer: { kind: "openai", model: "judge-1", baseUrl: `${stub?.url}/v1`, apiKey: API_KEY, timeoutMs: 3000 },
    },
  }))
  let answers: readonly Answer[] = []

  beforeAll(async () => {
    const text = (changes: JsonObject): JsonObject =>
      request({ payload: PAYLOAD, route_id: ROUTE, causal_graph: { note: DECLARED }, ...changes })
    const bodies = [
      text({}),
      text({ ai_output_text: `release ${OUTPUT}` }),
      text({ ai_output_text: `deny ${OUTPUT}` }),
      ...["prose", "chatty", "garbage", "forbidden"].map(word => text({ ai_output_text: `${word} ${OUTPUT}` })),
      text({ payload: `${EICAR} ${PAYLOAD}` }),
      text({ ai_output_text: `${EICAR} ${OUTPUT}` }),
      text({ ...spending(1_000_001), payload: PAYLOAD }),
      text({ attested_context: { unknown: PAYLOAD } }),
      text({ payload: [PAYLOAD] }),
      text({ ai_output_text: { text: OUTPUT } }),
    ]
    const made: Answer[] = []
    for (const body of bodies) {
      made.push(await service().execute(body))
      made.push(await service().post("/execute/verify-determinism", body))
    }
    made.push(await service().postRaw("/execute", `{"payload":"${PAYLOAD}`))
    answers = made
  })

  const dump = (): Promise<string> => dumpTables(service().db, 8)
  const found = (text: string): readonly string[] => secrets.filter(secret => text.includes(secret))

  test("is in no table", async () => {
    const text = await dump()
    expect(found(text)).toEqual([])
    expect(text, "the search looks at what is stored").toContain(DECLARED)
  })

  test("is in no line of the process log; neither is anything that was declared", () => {
    const lines = service().logLines.join("\n")
    expect(lines, "the failures were logged").toContain("AIVP_T4")
    expect(found(lines)).toEqual([])
    expect(lines).not.toContain(DECLARED)
    expect(lines).not.toContain(ROUTE)
  })

  test("is in no answer", async () => {
    expect(answers.length).toBeGreaterThan(20)
    for (const { text, headers } of answers) expect(found(`${text}\n${[...headers].join("\n")}`)).toEqual([])
  })

  test("is in nothing that can be read of the runs and the log", async () => {
    const { runs } = (await service().get("/runs")).body
    const paths = (runs as readonly JsonObject[]).flatMap(({ id }) =>
      ["", "/verify", "/artifacts", "/deny-receipt", "/aivp-t4-halt-receipt", "/allow-token"].map(
        end => `/runs/${id}${end}`,
      ),
    )
    for (const path of [...paths, "/runs", "/log/checkpoint", "/version"])
      expect(found((await service().get(path)).text), path).toEqual([])
  })

  test("the reviewer's key is in none of them, and was sent to the reviewer alone", async () => {
    expect(stub!.calls.length).toBeGreaterThan(0)
    expect(stub!.calls.every(({ headers }) => headers.authorization === `Bearer ${API_KEY}`)).toBe(true)
    expect(await dump()).not.toContain(API_KEY)
    expect(service().logLines.join("\n")).not.toContain(API_KEY)
  })
})
