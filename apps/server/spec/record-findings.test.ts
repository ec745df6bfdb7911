/** What a record finds odd about its request: in the answer, sealed, and never a refusal. docs/pipeline.md, "Findings". */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { at, numberAt } from "./harness/read-answer.ts"
import { request, spending } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()

const costing = (cost: JsonValue, changes: JsonObject = {}): JsonObject =>
  request({ request_substance: { cost }, ...changes })
const found = (code: string): JsonValue => [{ code, count: 1 }]
const bundleOf = async (body: JsonObject) => (await service().get(`/runs/${body.run_id}/artifacts?form=full`)).body

describe("findings of a run", () => {
  test.each([
    ["a cost with a misspelt total", costing({ total_token: 99_999_999 }), "COST_WITHOUT_TOTAL"],
    ["a total that is null", costing({ input_tokens: 5, total_tokens: null }), "COST_WITHOUT_TOTAL"],
    [
      "parts beyond the total",
      costing({ input_tokens: 5, output_tokens: 6, total_tokens: 1 }),
      "COST_PARTS_EXCEED_TOTAL",
    ],
    ["parts below the total", costing({ input_tokens: 1, output_tokens: 1, total_tokens: 9 }), "COST_DOES_NOT_ADD_UP"],
    ["an empty payload", request({ payload: "" }), "PAYLOAD_EMPTY"],
  ])("%s", async (_, body, code) => {
    const { status, body: answer } = await service().execute(body)
    expect(status).toBe(200)
    expect(answer.findings).toEqual(found(code))
    expect(JSON.stringify(at(await bundleOf(answer), "sections", "efa", "kernels"))).toContain(code)
  })

  test("are in lists and in the run's record", async () => {
    const { body } = await service().execute(request({ payload: "" }))
    const listed = (await service().get("/runs?limit=1")).body
    expect(at(listed, "runs", 0, "findings")).toEqual(found("PAYLOAD_EMPTY"))
    expect((await service().get("/runs/search?limit=1")).body.runs).toEqual(listed.runs)
    expect((await service().get(`/runs/${body.run_id}`)).body.findings).toEqual(found("PAYLOAD_EMPTY"))
    await service().execute(request())
    expect(at((await service().get("/runs?limit=1")).body, "runs", 0)).not.toHaveProperty("findings")
  })

  test("a halted run has them too", async () => {
    const { status, body } = await service().execute(spending(1_000_001, { payload: "" }))
    expect(status).toBe(422)
    expect(body).toMatchObject({ error_stage: "CCV", findings: found("PAYLOAD_EMPTY") })
  })

  test("a run without any has no member for them", async () => {
    for (const body of [request(), spending(42), costing({ input_tokens: 1, output_tokens: 1, total_tokens: 2 })])
      expect((await service().execute(body)).body).not.toHaveProperty("findings")
  })
})

test.each(["-0", "-0.0", "-0e5", "-0.000"])("%s is sealed as 0", async zero => {
  const text = JSON.stringify(request()).replace(
    "{",
    `{"request_substance":{"cost":{"total_tokens":${zero}}},"attested_context":{"model_temperature":${zero}},`,
  )
  const { status, body } = await service().postRaw("/execute", text)
  expect(status).toBe(200)
  const bundle = await bundleOf(body)
  expect(Object.is(numberAt(bundle, "sections", "request_substance", "declared", "cost", "total_tokens"), 0)).toBe(true)
  expect(Object.is(numberAt(bundle, "sections", "attested_context", "declared", "model_temperature"), 0)).toBe(true)
})

describe("null is as if it were not sent", () => {
  test("in members that nobody names, at any depth, and not in lists", async () => {
    const { body } = await service().execute(
      request({ reproducibility_context: { seed: null, list: [null, { a: null, b: 1 }], deep: { x: null } } }),
    )
    expect(at(await bundleOf(body), "sections", "reproducibility_context", "declared")).toEqual({
      list: [null, { b: 1 }],
      deep: {},
    })
  })

  test("for a whole section, payload_text and the AI output", async () => {
    const { status, body } = await service().execute(
      request({ causal_graph: null, payload_text: null, ai_output_text: null, unknown: null }),
    )
    expect(status).toBe(200)
    const bundle = await bundleOf(body)
    expect(at(bundle, "sections", "causal_graph")).not.toHaveProperty("declared")
    expect(at(bundle, "sections", "payload")).not.toHaveProperty("ai_output_hash")
  })

  test("for a name that is not accepted it is refused", async () => {
    expect((await service().execute(request({ attested_context: { actor: null } }))).status).toBe(400)
  })

  test("in the other requests", async () => {
    const digest = "5e".repeat(32)
    const attested = await service().post("/attest", { digest, algorithm: "sha256", subject_ref: null })
    expect(attested.status).toBe(201)
    expect(at(attested.body, "leaf")).not.toHaveProperty("subject_ref")
    expect((await service().post("/execute/verify-determinism", request({ causal_graph: null }))).status).toBe(200)
    const minted = await service().post("/admin/keys", {
      name: "ci",
      scope: null,
      tier: null,
      confirm_admin_scope: null,
    })
    expect(minted.status).toBe(201)
    expect(minted.body).toMatchObject({ name: "customer:ci", tier: "trial" })
  })
})
