/**
 * AIVP-T4 through the whole service, against a local server that speaks each reviewer's wire format. docs/policy-and-review.md,
 * "The review of AI output"; docs/formats.md sections 3.7 and 3.10.
 */
import { createHash } from "node:crypto"
import type { JsonObject } from "@runseal/canonical"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { done, openedId } from "./harness/asked-permits.ts"
import { at, numberAt, objectAt } from "./harness/read-answer.ts"
import { REVIEWER_PROSE, type ReviewStub, startReviewStub } from "./harness/review-stub.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const API_KEY = "sk-review-key-canary-91c2"

let stub: ReviewStub | undefined
beforeAll(async () => {
  stub = await startReviewStub()
})
afterAll(() => stub?.close())

const WIRES = [
  { kind: "openai", base: "/v1", adapter: "openai-compatible" },
  { kind: "anthropic", base: "", adapter: "anthropic" },
] as const

const HALTS = [
  { word: "deny", code: "AIVP_T4_DENY", reason: "HARMFUL_CONTENT" },
  { word: "halt", code: "AIVP_T4_HALT", reason: "SECRET_EXPOSED" },
  { word: "defer", code: "AIVP_T4_DEFER", reason: "UNCERTAIN" },
]
/** What is no verdict, or no answer at all. */
const NO_VERDICTS = ["prose", "garbage", "forbidden"]

describe.each(WIRES)("reviewer $kind", ({ kind, base, adapter }) => {
  const service = standingService(() => ({
    config: {
      reviewer: { kind, model: "judge-1", baseUrl: `${stub?.url}${base}`, apiKey: API_KEY, timeoutMs: 4000 },
    },
  }))
  const reviewed = (ai_output_text: string, changes: JsonObject = {}) =>
    service().execute(request({ ai_output_text, ...changes }))
  const failureLogged = () =>
    service()
      .logLines.map(line => JSON.parse(line))
      .findLast(({ stage }) => stage === "AIVP_T4")

  test("release: the run goes on; adapter, model, codes and hash are sealed", async () => {
    const text = "release the payment of 100 EUR"
    const { status, body } = await reviewed(text)
    expect(status).toBe(200)
    const ai_output_hash = createHash("sha256").update(text).digest("hex")
    expect(body.manifest).toMatchObject({
      AivpOutcome: "release",
      AivpAdapterID: adapter,
      AivpAiOutputHash: ai_output_hash,
    })
    const bundle = (await service().get(`/runs/${body.run_id}/artifacts`)).body
    expect(objectAt(bundle, "sections", "governance_review")).toMatchObject({
      adapter_id: adapter,
      model: "judge-1",
      ai_output_hash,
      decision_kind: "release",
      decision_reason: "ACCEPTABLE",
      rule_ids: [],
      finding_count: 0,
    })
  })

  test.each(HALTS)("$word: a halt with the code $code", async ({ word, code, reason }) => {
    const { status, body } = await reviewed(`${word} this`)
    expect({ status, stage: body.error_stage }).toEqual({ status: 422, stage: "AIVP_T4" })
    expect(body.aivp_t4_halt_receipt).toMatchObject({
      adapter_id: adapter,
      decision_kind: word,
      decision_reason: reason,
      halt_reason_code: code,
      anchor_required: true,
    })
  })

  test.each(NO_VERDICTS)(
    "%s: no verdict is a stage error at AIVP_T4 with 500 and a run number, never a release",
    async word => {
      const { status, body, text, headers } = await reviewed(`${word} comes back`)
      expect({ status, stage: body.error_stage, ok: body.ok }).toEqual({ status: 500, stage: "AIVP_T4", ok: false })
      expect(Number.isSafeInteger(numberAt(body, "run_id"))).toBe(true)
      expect(text).not.toContain(REVIEWER_PROSE)
      const record = (await service().get(`/runs/${body.run_id}`)).body
      expect(record).toMatchObject({ outcome_kind: "stage_error", error_stage: "AIVP_T4", manifest_hash: "" })
      expect(record).not.toHaveProperty("manifest")
      expect(failureLogged()).toMatchObject({
        level: 50,
        run_id: body.run_id,
        request_id: headers.get("x-request-id"),
      })
    },
  )

  test("no verdict on the output of a permitted act is logged with the run that closes the permit", async () => {
    const id = await openedId(service())
    const { status, body, headers } = await service().post(
      `/permits/${id}/close`,
      done({ ai_output_text: "prose comes back" }),
    )
    expect({ status, stage: body.error_stage }).toEqual({ status: 500, stage: "AIVP_T4" })
    expect(failureLogged()).toMatchObject({ run_id: numberAt(body, "run_id"), request_id: headers.get("x-request-id") })
  })

  test("40 runs at once are each decided by their own review", async () => {
    const words = Array.from({ length: 40 }, (_, i) => ["release", "deny", "halt", "defer"][i % 4]!)
    const answers = await Promise.all(words.map((word, i) => reviewed(`${word} number ${i}`)))
    const decided = answers.map(({ status, body }) =>
      status === 200 ? "release" : at(body, "aivp_t4_halt_receipt", "decision_kind"),
    )
    expect(decided).toEqual(words)
  })
})

describe("a reviewer that nobody can reach", () => {
  const service = standingService(() => ({
    config: { reviewer: { kind: "openai", model: "judge-1", baseUrl: "http://127.0.0.1:9/v1", timeoutMs: 1500 } },
  }))

  test("is a stage error at AIVP_T4, within its deadline", async () => {
    const started = performance.now()
    const { status, body } = await service().execute(request({ ai_output_text: "release" }))
    expect({ status, stage: body.error_stage }).toEqual({ status: 500, stage: "AIVP_T4" })
    expect(performance.now() - started).toBeLessThan(20_000)
  })

  test("does not stop runs without AI output", async () => {
    expect((await service().execute(request())).status).toBe(200)
  })
})

describe("a reviewer that never answers", () => {
  const service = standingService(() => ({
    config: { reviewer: { kind: "openai", model: "judge-1", baseUrl: `${stub?.url}/v1`, timeoutMs: 300 } },
  }))

  test("is a stage error when its deadline passes; other runs go on meanwhile", async () => {
    const started = performance.now()
    const silent = service().execute(request({ ai_output_text: "silence falls" }))
    expect((await service().execute(request())).status).toBe(200)
    const { status, body } = await silent
    expect({ status, stage: body.error_stage }).toEqual({ status: 500, stage: "AIVP_T4" })
    expect(performance.now() - started).toBeLessThan(20_000)
  })
})

describe("no reviewer", () => {
  const service = standingService(() => ({ config: { reviewer: { kind: "none", timeoutMs: 1000 } } }))

  test("releases, and the record says that the review was switched off", async () => {
    const { status, body } = await service().execute(request({ ai_output_text: "anything" }))
    expect(status).toBe(200)
    const bundle = (await service().get(`/runs/${body.run_id}/artifacts`)).body
    expect(objectAt(bundle, "sections", "governance_review")).toMatchObject({
      adapter_id: "none",
      decision_kind: "release",
      decision_reason: "REVIEW_DISABLED",
    })
  })
})
