/** docs/formats.md sections 2.1 and 3.10: raw payload, raw AI output and a reviewer's words are never stored, logged or echoed. */
import type { JsonObject } from "@runseal/canonical"
import { afterAll, beforeAll, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { asking, done } from "./harness/asked-permits.ts"
import { type Answer, textAt } from "./harness/read-answer.ts"
import { REVIEWER_PROSE, type ReviewStub, startReviewStub } from "./harness/review-stub.ts"
import { EICAR, request, spending } from "./harness/sample-requests.ts"
import { dumpTables, spellings } from "./harness/spellings.ts"
import { standingService, type TestService } from "./harness/test-service.ts"

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

/** Acts under permits: refused before the act, and closed with an output that is released, stopped, or cannot be reviewed. */
async function permittedActs(service: TestService): Promise<readonly Answer[]> {
  const answers = [await service.post("/permits", asking({ payload: `${EICAR} ${PAYLOAD}` }))]
  for (const output of ["release", "deny", "garbage", EICAR].map(word => `${word} ${OUTPUT}`)) {
    const opened = await service.post("/permits", asking({ payload: PAYLOAD }))
    const close = `/permits/${textAt(opened.body, "permit_id")}/close`
    answers.push(opened, await service.post(close, done({ ai_output_text: output })))
    answers.push(await service.post(close, done({ ai_output_text: OUTPUT })), await service.get(close.slice(0, -6)))
  }
  return answers
}

/** Calls of a tool as an agent's hooks report them: done, failed, and one that was never decided. */
async function hookedCalls(service: TestService): Promise<readonly Answer[]> {
  const hook = (body: JsonObject): Promise<Answer> => service.post("/hooks/claude-code", body)
  const answers: Answer[] = []
  for (const word of ["release", "deny", "garbage"]) {
    const call = { session_id: "s-1", tool_use_id: word, tool_name: "Bash", tool_input: { command: PAYLOAD } }
    const after = { ...call, tool_response: `${word} ${OUTPUT}` }
    answers.push(await hook({ ...call, hook_event_name: "PreToolUse" }))
    answers.push(await hook({ ...after, hook_event_name: "PostToolUse" }))
    answers.push(await hook({ ...after, tool_use_id: `${word} late`, hook_event_name: "PostToolUse" }))
    const failed = { ...call, tool_use_id: `${word} failed`, error: `${word} ${OUTPUT}` }
    answers.push(await hook({ ...failed, hook_event_name: "PostToolUseFailure" }))
  }
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  return answers
}

/** Spans of models and tools with their content. */
async function contentSpans(service: TestService): Promise<Answer> {
  const attributes = (texts: Readonly<Record<string, string>>): readonly JsonObject[] =>
    Object.entries(texts).map(([key, stringValue]) => ({ key, value: { stringValue } }))
  const span = (digit: string, texts: Readonly<Record<string, string>>): JsonObject => ({
    traceId: digit.repeat(32),
    spanId: digit.repeat(16),
    name: "call",
    status: { code: 2, message: OUTPUT },
    attributes: [...attributes(texts)],
  })
  const model = { "gen_ai.operation.name": "chat", "gen_ai.input.messages": PAYLOAD }
  const tool = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.description": PAYLOAD }
  const spans = [
    span("a", { ...model, "gen_ai.output.messages": `release ${OUTPUT}`, "gen_ai.system_instructions": PAYLOAD }),
    span("b", { ...model, "gen_ai.output.messages": `garbage ${OUTPUT}` }),
    span("c", { ...tool, "gen_ai.tool.call.arguments": PAYLOAD, "gen_ai.tool.call.result": `deny ${OUTPUT}` }),
  ]
  const answer = await service.post("/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] })
  expect({ status: answer.status, body: answer.body }, "each is sealed").toEqual({ status: 200, body: {} })
  return answer
}

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
    made.push(...(await permittedActs(service())), ...(await hookedCalls(service())), await contentSpans(service()))
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
    expect(answers.length).toBeGreaterThan(50)
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
