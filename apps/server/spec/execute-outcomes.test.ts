/** The outcomes of a run and their answers: docs/api.md, "POST /execute". */
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { ADMIN, mint } from "./harness/key-holders.ts"
import { keysOf, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { EICAR, request, spending } from "./harness/sample-requests.ts"
import {
  CASES,
  type CaseName,
  RUN_TOKEN_BUDGET,
  standingSevenStates,
  WINDOW_SECONDS,
  WINDOW_TOKEN_BUDGET,
} from "./harness/seven-states.ts"
import { standingService } from "./harness/test-service.ts"

const { service, stub, answers, runId } = standingSevenStates()

type Refusal = { readonly stage: string; readonly receipt: string }
const REFUSALS: Readonly<Partial<Record<CaseName, Refusal>>> = {
  deny_by_signature: { stage: "PEPG", receipt: "deny_receipt" },
  deny_by_rule: { stage: "PEPG", receipt: "deny_receipt" },
  ccv_halt: { stage: "CCV", receipt: "ccv_halt_receipt" },
  macc_halt: { stage: "MACC", receipt: "macc_halt_receipt" },
  aivp_t4_halt: { stage: "AIVP_T4", receipt: "aivp_t4_halt_receipt" },
  attestation_gap: { stage: "PEPG_ADMISSION", receipt: "attestation_gap_receipt" },
}
const refusals = Object.entries(REFUSALS) as readonly (readonly [CaseName, Refusal])[]

test("an ok run answers 200 with ok, run_id, duration_ms, manifest and allow_token, and nothing else", () => {
  const { status, body } = answers().ok
  expect(status).toBe(200)
  expect(keysOf(body)).toEqual(["allow_token", "duration_ms", "manifest", "ok", "run_id"])
  expect(body.ok).toBe(true)
  expect(Number.isSafeInteger(body.run_id)).toBe(true)
  expect(Number.isSafeInteger(body.duration_ms)).toBe(true)
})

test.each(refusals)("%s answers 422 with its stage, its receipt and its partial manifest", (name, refusal) => {
  const { status, body } = answers()[name]
  expect(status).toBe(422)
  const partial = name === "attestation_gap" ? [] : ["partial_manifest"]
  const expected = ["ok", "run_id", "duration_ms", "error", "error_stage", "explanation", refusal.receipt, ...partial]
  expect(keysOf(body)).toEqual(expected.sort())
  expect(body.ok).toBe(false)
  expect(body.error_stage).toBe(refusal.stage)
  expect(textAt(body, "error")).toMatch(/\.$/)
  expect(Number.isSafeInteger(body.duration_ms)).toBe(true)
})

test("a stage error answers 500 with the failing stage, a run number and no artifact", () => {
  const { status, body } = answers().stage_error
  expect(status).toBe(500)
  expect(keysOf(body)).toEqual(["duration_ms", "error", "error_stage", "ok", "run_id"])
  expect(body).toMatchObject({ ok: false, error_stage: "AIVP_T4" })
})

describe("conditions", () => {
  test("a signature match names the signature and its finding", () => {
    const receipt = objectAt(answers().deny_by_signature.body, "deny_receipt")
    expect(receipt.decision_reason_code).toBe("MCD_SIGNATURE_MATCH")
    expect(receipt.fired_rule_id).toMatch(/^MCD-/)
    expect(receipt.mcd_finding_hash).toMatch(/^[0-9a-f]{64}$/)
  })

  test("a deny by policy rule names the rule and has no mcd_finding_hash", () => {
    const receipt = objectAt(answers().deny_by_rule.body, "deny_receipt")
    expect(receipt.fired_rule_id).toBe("deny-forbidden-route")
    expect(receipt).not.toHaveProperty("mcd_finding_hash")
  })

  test("every refusal is explained in its answer and in its record; nothing else is", async () => {
    const fields = ["actor_id", "model_name"]
    const expected: Readonly<Partial<Record<(typeof CASES)[number], JsonObject>>> = {
      deny_by_signature: {
        reason: "MCD_SIGNATURE_MATCH",
        rule_id: expect.stringMatching(/^MCD-/),
        title: expect.stringMatching(/./),
        description: expect.stringMatching(/\.$/),
        reference: expect.stringMatching(/./),
        matched_in: "payload",
      },
      deny_by_rule: expect.objectContaining({ reason: "RULE_DENIED", rule_id: "deny-forbidden-route" }),
      ccv_halt: { reason: "TOKEN_BUDGET_EXCEEDED", needed: RUN_TOKEN_BUDGET, present: RUN_TOKEN_BUDGET + 1 },
      macc_halt: {
        reason: "CUMULATIVE_TOKEN_BUDGET_EXCEEDED",
        needed: WINDOW_TOKEN_BUDGET,
        present: WINDOW_TOKEN_BUDGET + 42,
      },
      aivp_t4_halt: { reason: expect.stringMatching(/^[A-Z_]+$/) },
      attestation_gap: { reason: "ATTESTATION_GAP", needed: fields, present: [], missing: fields },
    }
    for (const name of CASES) {
      expect(answers()[name].body.explanation, name).toEqual(expected[name])
      const { body } = await service().get(`/runs/${runId(name)}`)
      expect(body.explanation, name).toEqual(answers()[name].body.explanation)
    }
  })

  test("a list shows of each refusal its reason, and the rule or signature that decided; of other runs nothing", async () => {
    const expected: Readonly<Partial<Record<CaseName, JsonObject>>> = {
      deny_by_signature: { reason: "MCD_SIGNATURE_MATCH", rule_id: expect.stringMatching(/^MCD-/) },
      deny_by_rule: { reason: "RULE_DENIED", rule_id: "deny-forbidden-route" },
      ccv_halt: { reason: "TOKEN_BUDGET_EXCEEDED" },
      macc_halt: { reason: "CUMULATIVE_TOKEN_BUDGET_EXCEEDED" },
      aivp_t4_halt: { reason: "HARMFUL_CONTENT" },
      attestation_gap: { reason: "ATTESTATION_GAP" },
    }
    for (const path of ["/runs", "/runs/search"]) {
      const shown = new Map(
        listAt((await service().get(`${path}?limit=500`)).body, "runs").map(run => [
          numberAt(run, "id"),
          objectAt(run).explanation,
        ]),
      )
      for (const name of CASES) expect(shown.get(runId(name)), `${path} ${name}`).toEqual(expected[name])
    }
  })

  test("a review halt says who reviewed and what was decided, as codes", () => {
    expect(answers().aivp_t4_halt.body.aivp_t4_halt_receipt).toMatchObject({
      adapter_id: "openai-compatible",
      decision_kind: "deny",
      decision_reason: "HARMFUL_CONTENT",
      halt_reason_code: "AIVP_T4_DENY",
    })
  })
})

describe("the gates stand in this order: PEPG_ADMISSION, PEPG, CCV, MACC, AIVP_T4", () => {
  const attested_context = { actor_id: "agent-7", model_name: "model-a" }
  const cases: readonly (readonly [string, string, JsonObject])[] = [
    ["PEPG_ADMISSION", "a signature matches too", request({ payload: EICAR })],
    ["PEPG_ADMISSION", "a budget is breached too", spending(RUN_TOKEN_BUDGET + 1)],
    ["PEPG", "a budget is breached too", spending(RUN_TOKEN_BUDGET + 1, { attested_context, payload: EICAR })],
    ["PEPG", "the rule and a signature deny", request({ attested_context, payload: EICAR, route_id: "forbidden" })],
    ["CCV", "the window would be closed too", spending(RUN_TOKEN_BUDGET + WINDOW_TOKEN_BUDGET, { attested_context })],
    ["CCV", "the review would deny", spending(RUN_TOKEN_BUDGET + 1, { attested_context, ai_output_text: "deny it" })],
    ["MACC", "the review would deny", spending(WINDOW_TOKEN_BUDGET, { attested_context, ai_output_text: "deny it" })],
  ]

  test.each(cases)("%s decides when %s; nobody reviews", async (stage, _also, body) => {
    const asked = stub().calls.length
    const answer = await service().execute(body)
    if (stage === "MACC") service().clock.advance(WINDOW_SECONDS * 1000)
    expect(answer.body.error_stage).toBe(stage)
    expect(stub().calls.length).toBe(asked)
  })

  test("a signature goes before a rule", async () => {
    const body = request({ attested_context, payload: EICAR, route_id: "forbidden" })
    const receipt = objectAt((await service().execute(body)).body, "deny_receipt")
    expect(receipt.decision_reason_code).toBe("MCD_SIGNATURE_MATCH")
  })
})

describe("the built-in policy", () => {
  const hosted = standingService()

  test("admits every run by the rule baseline-permit", async () => {
    const { status, body } = await hosted().execute(request())
    expect(status).toBe(200)
    expect(body.allow_token).toMatchObject({ fired_rule_id: "baseline-permit", decision_reason_code: "RULE_ALLOWED" })
  })

  test("requires no attested field", async () => {
    expect((await hosted().execute(request({ attested_context: {} }))).status).toBe(200)
  })
})

describe("the error of a denial by a policy", () => {
  const policy = (...rules: readonly JsonObject[]): JsonObject => ({
    policy_id: "p",
    policy_name: "P",
    required_attested_fields: [],
    rules: [...rules],
  })
  const described = { id: "no-exports", effect: "deny", description: "Exports are made by people." }
  const standing = standingService(() => ({ policy: policy(described) }))
  const SEALED = "The policy gate denied the run before any kernel ran."

  test("says behind the sealed sentence which rule decided and how its author describes it, also when another policy is in force", async () => {
    const admin = await mint(standing(), ADMIN)
    const headers = {
      "Content-Type": "application/json",
      "X-Service-Key": admin.secret ?? "",
      "Idempotency-Key": "denied-once",
    }
    const once = () => standing().postRaw("/execute", JSON.stringify(request()), headers)
    const first = await once()
    expect(first.body).toMatchObject({
      error: `${SEALED} Cause: rule no-exports of the policy: Exports are made by people.`,
    })
    const load = async (...rules: readonly JsonObject[]): Promise<void> => {
      expect((await admin.post("/admin/policies", { policy: policy(...rules) })).status).toBe(201)
    }
    await load({ id: "bare", effect: "deny" })
    expect((await once()).text).toBe(first.text)
    expect((await admin.execute(request())).body.error).toBe(`${SEALED} Cause: rule bare of the policy.`)
    await load({ id: "never", effect: "allow", when: "context.verified.payload_bytes > 1000000" })
    const { body } = await admin.execute(request())
    expect(body.error).toBe(`${SEALED} Cause: no rule of the policy allows it.`)
    expect((await admin.get(`/runs/${numberAt(body, "run_id")}`)).body.error_message).toBe(SEALED)
  })
})
