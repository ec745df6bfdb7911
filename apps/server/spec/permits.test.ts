/** Opening and closing permits: docs/api.md, "POST /permits" and "POST /permits/{id}/close". */

import type { JsonObject } from "@runseal/canonical"
import { parseStrictJson } from "@runseal/canonical"
import { verifyPermit } from "@runseal/permit"
import { describe, expect, test } from "vitest"
import { verdictOn } from "../../../libs/core/test/fixtures/judged.ts"
import { eachDatabase } from "./database/databases.ts"
import { AUDIENCE, asking, closed, costing, done, opened, openedId, permitAt } from "./harness/asked-permits.ts"
import { trustOf } from "./harness/auditor.ts"
import { isReplay, newKey, sendKeyed } from "./harness/keyed.ts"
import { type Answer, expectRefused, keysOf, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { CANARY, refusal } from "./harness/refusal.ts"
import { EICAR, PROGRAM_ID, ROUTE_ID, request } from "./harness/sample-requests.ts"
import { standingService, type TestService } from "./harness/test-service.ts"

const MINUTE = 60_000
const verdictOf = async (service: TestService, document: JsonObject): Promise<string> =>
  verdictOn(document, [await trustOf(service)])
const bundleOf = async (service: TestService, answer: Answer): Promise<JsonObject> =>
  (await service.get(`/runs/${numberAt(answer.body, "run_id")}/artifacts`)).body
const closing = (service: TestService, id: string, body: JsonObject): Promise<Answer> =>
  service.post(`/permits/${id}/close`, body)

eachDatabase("an opened permit", open => {
  const service = standingService(() => ({ open }))

  test("is answered with its opening, which verifies, and its times", async () => {
    const { body } = await opened(service())
    expect(keysOf(body)).toEqual(["close_by", "expires_at", "ok", "opening", "permit", "permit_id"])
    expect(await verdictOf(service(), objectAt(body, "opening"))).toMatch(/^OPENING/)
    const admitted = Date.parse(textAt(body, "opening", "sections", "envelope", "admission_clock"))
    expect(Date.parse(textAt(body, "expires_at"))).toBe(admitted + 5 * MINUTE)
    expect(Date.parse(textAt(body, "close_by"))).toBe(admitted + 10 * MINUTE)
  })

  test("is a JWT that verifies for its payload alone, by the keys of jwks.json", async () => {
    const { body } = await opened(service())
    const jwks = await service().get("/.well-known/jwks.json")
    expect(jwks.headers.get("cache-control")).toBe("public, max-age=300")
    const trust = await service().get("/.well-known/runseal-trust.json")
    const expected = {
      audience: AUDIENCE,
      program_id: PROGRAM_ID,
      route_id: ROUTE_ID,
      issuer: textAt(trust.body, "origin"),
      payload: "Approve invoice 4711 over 100 EUR.",
      now: new Date(service().clock.nowMs()),
    }
    const keys = JSON.parse(jwks.text)
    const verdict = await verifyPermit(textAt(body, "permit"), { ...expected, keys })
    expect(verdict).toMatchObject({ ok: true, claims: { jti: body.permit_id, sub: "anonymous" } })
    const trusted = await verifyPermit(textAt(body, "permit"), { ...expected, trust: trust.body })
    expect(trusted).toMatchObject({ ok: true })
    const other = await verifyPermit(textAt(body, "permit"), { ...expected, keys, payload: "another" })
    expect(other).toMatchObject({ ok: false, reason: "wrong_payload" })
  })

  test("is closed by a run that shows it, and verifies", async () => {
    const id = await openedId(service())
    const closeBody = done({
      ai_output_text: "Paid.",
      ...costing(40),
      causal_graph: { effect_log: [{ effect_kind: "payment" }] },
    })
    const answer = await closed(service(), id, closeBody)
    expect(keysOf(answer.body)).toEqual(["allow_token", "duration_ms", "manifest", "ok", "run_id"])
    const bundle = await bundleOf(service(), answer)
    expect(await verdictOf(service(), bundle)).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    expect(objectAt(bundle, "sections", "permit")).toMatchObject({ permit_id: id, outcome: "completed" })
    expect(objectAt(bundle, "sections", "budget_snapshot", "window")).toMatchObject({ tokens: 40, reserved: 100 })
    const run = (await service().get(`/runs/${numberAt(answer.body, "run_id")}`)).body
    expect(run).toMatchObject({ permit_id: id, closing_outcome: "completed", outcome_kind: "ok" })
    expect(await permitAt(service(), id)).toMatchObject({ state: "closed", run_id: run.id })
  })

  test("is sealed with its close where both have as many members as a body may have", async () => {
    const list = Array(131_000).fill(0)
    const id = await openedId(service(), { reproducibility_context: { list } })
    const answer = await closed(service(), id, done({ causal_graph: { list } }))
    expect(await verdictOf(service(), await bundleOf(service(), answer))).toMatch(/^VERIFIED AND ANCHORED/)
  })

  test("whose act failed is closed by a run that says so", async () => {
    const id = await openedId(service())
    const answer = await closed(service(), id, { outcome: "failed", code: "EXECUTOR_REFUSED" })
    const listed = (await service().get("/runs?limit=1")).body
    expect(objectAt(listed, "runs", 0)).toMatchObject({ permit_id: id, closing_outcome: "failed", outcome_kind: "ok" })
    const use = objectAt(await bundleOf(service(), answer), "sections", "permit")
    expect(use).toMatchObject({ outcome: "failed", code: "EXECUTOR_REFUSED" })
  })

  test("is closed once: every later close is 409", async () => {
    const id = await openedId(service())
    await closed(service(), id)
    expectRefused(await closing(service(), id, done()), 409, "permit_not_open")
  })

  test("is closed until close_by, and then not", async () => {
    const [early, late] = [await openedId(service()), await openedId(service())]
    service().clock.advance(10 * MINUTE - 5000)
    await closed(service(), early)
    service().clock.advance(6000)
    expectRefused(await closing(service(), late, done()), 409, "permit_not_open")
    await service().deps.permitEnds.sweep()
    const ended = await permitAt(service(), late)
    expect(ended).toMatchObject({ state: "ended" })
    expect(await verdictOf(service(), objectAt(ended, "end"))).toMatch(/^PERMIT END/)
  })

  test("may reserve nothing, and be valid as long as it says", async () => {
    const { body } = await opened(service(), { reserve_tokens: 0, valid_for_seconds: 3600, close_within_seconds: 120 })
    expect(Date.parse(textAt(body, "close_by")) - Date.parse(textAt(body, "expires_at"))).toBe(120_000)
    await closed(service(), textAt(body, "permit_id"))
  })

  test("names what it ignored", async () => {
    expect((await opened(service(), { audiance: "x" })).body.ignored).toEqual(["audiance"])
  })
})

eachDatabase("a permit that is refused", open => {
  const config = { runTokenBudget: 1000, windowTokenBudget: 5000 }
  const service = standingService(() => ({ open, config }))

  test.each([
    ["pepg_deny", { payload: EICAR }, "PEPG", "deny_receipt"],
    ["ccv_halt", { reserve_tokens: 1001 }, "CCV", "ccv_halt_receipt"],
  ] as const)("is a run that ended as %s", async (outcome, changes, error_stage, receipt) => {
    const answer = await service().post("/permits", asking(changes))
    expect(answer.status, answer.text).toBe(422)
    expect(answer.body).toMatchObject({ ok: false, error_stage, [receipt]: {} })
    const run = (await service().get(`/runs/${numberAt(answer.body, "run_id")}`)).body
    expect(run.outcome_kind).toBe(outcome)
    expect(run.permit_id).toBeUndefined()
    const refused = (await service().get("/permits?state=refused")).body
    expect(objectAt(refused, "permits", 0)).toMatchObject({ state: "refused", run_id: run.id })
    const permit = await permitAt(service(), textAt(refused, "permits", 0, "permit_id"))
    expect(permit.opening).toBeUndefined()
    expectRefused(await closing(service(), textAt(permit, "permit_id"), done()), 409, "permit_not_open")
  })

  test("by a full window reserves nothing", async () => {
    for (let i = 0; i < 4; i++) await opened(service(), { reserve_tokens: 1000 })
    const answer = await service().post("/permits", asking({ reserve_tokens: 1000 }))
    expect(answer.status, answer.text).toBe(422)
    expect(objectAt(answer.body, "macc_halt_receipt")).toMatchObject({ cumulative_at_halt: 5000, budget_limit: 5000 })
    const bundle = await bundleOf(service(), answer)
    expect(objectAt(bundle, "sections", "budget_snapshot")).toMatchObject({ purpose: "reservation" })
    await opened(service(), { reserve_tokens: 900 })
  })
})

eachDatabase("the budgets of a close", open => {
  const config = { runTokenBudget: 1000, windowTokenBudget: 1500 }
  const service = standingService(() => ({ open, config }))
  const fresh = () => service().clock.advance(86_400_000)

  test("unused tokens return to the window, at once", async () => {
    fresh()
    const id = await openedId(service(), { reserve_tokens: 1000 })
    expect((await service().post("/permits", asking({ reserve_tokens: 600 }))).status).toBe(422)
    await closed(service(), id, costing(10))
    await opened(service(), { reserve_tokens: 600 })
  })

  test("more than the run budget is a ccv_halt whose settlement stays", async () => {
    fresh()
    const answer = await closing(service(), await openedId(service()), costing(1001))
    expect(answer.status, answer.text).toBe(422)
    const bundle = await bundleOf(service(), answer)
    expect(objectAt(bundle, "sections", "budget_snapshot", "window")).toMatchObject({
      tokens: 1001,
      reserved: 100,
      total_after: 1001,
    })
  })

  test("more than was reserved is a macc_halt where it fills the window, and within the reservation never", async () => {
    fresh()
    const [one, two] = [
      await openedId(service(), { reserve_tokens: 700 }),
      await openedId(service(), { reserve_tokens: 700 }),
    ]
    const answer = await closing(service(), one, costing(900))
    expect(answer.status, answer.text).toBe(422)
    expect(objectAt(answer.body, "macc_halt_receipt")).toMatchObject({ cumulative_at_halt: 1600 })
    await closed(service(), two, costing(700))
  })

  test("a signature in the output denies the close, which settles all the same", async () => {
    fresh()
    const answer = await closing(service(), await openedId(service()), done({ ai_output_text: EICAR }))
    expect(answer.status, answer.text).toBe(422)
    const bundle = await bundleOf(service(), answer)
    expect(objectAt(bundle, "sections", "mcd_finding")).toMatchObject({ matched_in: "ai_output" })
    expect(objectAt(bundle, "sections", "budget_snapshot", "window")).toMatchObject({
      tokens: 0,
      reserved: 100,
      total_after: 0,
    })
  })

  test("a signature in what the close declares is found there", async () => {
    fresh()
    const body = done({ causal_graph: { note: EICAR } })
    const answer = await closing(service(), await openedId(service()), body)
    expect(answer.status, answer.text).toBe(422)
    const bundle = await bundleOf(service(), answer)
    expect(textAt(bundle, "sections", "mcd_finding", "matched_in")).toBe("/closing/causal_graph/note")
    expect(await verdictOf(service(), bundle)).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
  })

  test("a review that does not release the output halts the close", async () => {
    fresh()
    const key =
      "-----BEGIN PRIVATE KEY-----\nVGhpcyBpcyBhbiBleGFtcGxlIGFuZCBubyBrZXkuIEl0IHdhcyB0eXBlZCBieSBo\n-----END PRIVATE KEY-----"
    const answer = await closing(service(), await openedId(service()), done({ ai_output_text: key }))
    expect(answer.status, answer.text).toBe(422)
    expect(answer.body).toMatchObject({ error_stage: "AIVP_T4" })
  })
})

eachDatabase("a request about a permit that is not accepted", open => {
  const service = standingService(() => ({ open }))

  test.each([
    ["an output", { ai_output_text: CANARY }, /ai_output_text/],
    ["a cost", { request_substance: { cost: { total_tokens: 1 } } }, /request_substance\.cost/],
    ["no reservation", { reserve_tokens: null }, /reserve_tokens: is required/],
    ["no audience", { audience: null }, /audience/],
    ["an empty audience", { audience: "" }, /audience/],
    ["a long audience", { audience: "a".repeat(257) }, /audience/],
    ["a negative reservation", { reserve_tokens: -1 }, /reserve_tokens/],
    ["no time", { valid_for_seconds: 0 }, /valid_for_seconds: must be at least 1/],
    ["a long time", { valid_for_seconds: 3601 }, /valid_for_seconds: must be at most 3600 unless redeem_required/],
    [
      "too long a time",
      { valid_for_seconds: 86_401, redeem_required: true },
      /valid_for_seconds: must be at most 86400/,
    ],
    ["a short close", { close_within_seconds: 119 }, /close_within_seconds: must be at least 120/],
  ] as const)("opening with %s is 400", async (_what, changes, sentence) => {
    expect(await refusal(service(), sender => sender.post("/permits", asking(changes)))).toMatch(sentence)
  })

  test("is redeemed later, and not refused for good, where the clock was set back meanwhile", async () => {
    const { permit_id, permit } = (await opened(service(), { redeem_required: true })).body
    const redeem = () => service().post(`/permits/${permit_id}/redeem`, { permit: permit ?? null })
    service().clock.advance(-30_000)
    expect(expectRefused(await redeem(), 503)).toMatch(/clock of this server/)
    service().clock.advance(30_000)
    expect((await redeem()).status).toBe(200)
  })

  test("24 hours are granted where the permit must be redeemed", async () => {
    await opened(service(), { valid_for_seconds: 86_400, redeem_required: true, close_within_seconds: 86_400 })
  })

  test.each([
    ["without outcome", {}, /outcome/],
    ["with another outcome", { outcome: CANARY }, /outcome/],
    ["failed without a code", { outcome: "failed" }, /code: must be present when outcome is failed/],
    ["done with a code", done({ code: "TIMED_OUT" }), /code/],
    ["with another code", { outcome: "failed", code: CANARY }, /code/],
    ["with approvals", done({ authorization_chain: {} }), /no field authorization_chain; its fields are outcome/],
    [
      "with a prompt",
      done({ request_substance: { prompt: { hash: CANARY } } }),
      /request_substance: has no field prompt/,
    ],
    [
      "with what the opening declared",
      done({ causal_graph: { parent_run_id: CANARY } }),
      /causal_graph\.parent_run_id was declared at the opening/,
    ],
  ] as const)("a close %s is 400, and the permit stays open", async (_what, body, sentence) => {
    const id = await openedId(service(), { causal_graph: { parent_run_id: 7 } })
    expect(await refusal(service(), sender => closing(sender, id, body))).toMatch(sentence)
    await closed(service(), id)
  })

  test("an unknown permit is 404", async () => {
    for (const id of [`pmt-${"0".repeat(32)}`, "pmt-1", "1", "open"]) {
      expectRefused(await service().get(`/permits/${id}`), 404, "not_found")
      expectRefused(await closing(service(), id, done()), 404, "not_found")
    }
  })
})

eachDatabase("a repeated request about a permit", open => {
  const service = standingService(() => ({ open }))

  test("gets the first opening, with a permit of the same claims", async () => {
    const key = newKey()
    const first = await sendKeyed(service(), "/permits", key, asking())
    const again = await sendKeyed(service(), "/permits", key, asking())
    expect([first.status, again.status, isReplay(again)]).toEqual([201, 201, true])
    const { permit: one, ...rest } = first.body
    const { permit: two, ...others } = again.body
    expect(others).toEqual(rest)
    const claims = (permit: unknown) => parseStrictJson(Buffer.from(String(permit).split(".")[1] ?? "", "base64url"))
    expect(claims(two)).toEqual(claims(one))
    expect((await service().get("/permits?limit=1")).body.total).toBe(1)
  })

  test("gets no permit once it has expired, or is closed", async () => {
    const [expired, ended] = [newKey(), newKey()]
    await sendKeyed(service(), "/permits", expired, asking())
    const { body } = await sendKeyed(service(), "/permits", ended, asking({ valid_for_seconds: 3600 }))
    await closed(service(), textAt(body, "permit_id"))
    service().clock.advance(6 * MINUTE)
    for (const [key, changes] of [
      [expired, {}],
      [ended, { valid_for_seconds: 3600 }],
    ] as const) {
      const again = await sendKeyed(service(), "/permits", key, asking(changes))
      expect(again.status).toBe(201)
      expect(keysOf(again.body)).toEqual(["close_by", "expires_at", "ok", "opening", "permit_id"])
    }
  })

  test("gets the first refusal, and the first close, byte for byte", async () => {
    const key = newKey()
    const refused = await sendKeyed(service(), "/permits", key, asking({ payload: EICAR }))
    const again = await sendKeyed(service(), "/permits", key, asking({ payload: EICAR }))
    expect([refused.status, again.text, isReplay(again)]).toEqual([422, refused.text, true])
    const id = await openedId(service())
    const [one, two] = [
      await sendKeyed(service(), `/permits/${id}/close`, key, done()),
      await sendKeyed(service(), `/permits/${id}/close`, key, done()),
    ]
    expect([one.status, two.text, isReplay(two)]).toEqual([200, one.text, true])
  })
})

eachDatabase("a close whose review fails", open => {
  const config = { reviewer: { kind: "openai", model: "m", baseUrl: "http://127.0.0.1:9", timeoutMs: 500 } } as const
  const service = standingService(() => ({ open, config }))

  test("is a stage_error that has permit, closing and budget, and settles", async () => {
    const id = await openedId(service())
    const answer = await closing(service(), id, { ...costing(40), ai_output_text: "Paid." })
    expect(answer.status, answer.text).toBe(500)
    expect(answer.body).toMatchObject({ ok: false, error_stage: "AIVP_T4" })
    const { sections } = await bundleOf(service(), answer)
    expect(objectAt(sections, "permit")).toMatchObject({ permit_id: id })
    expect(objectAt(sections, "closing", "declared", "request_substance")).toEqual({ cost: { total_tokens: 40 } })
    expect(objectAt(sections, "budget_snapshot", "window")).toMatchObject({ tokens: 40, total_after: 40 })
    expect(service().logLines.filter(line => line.includes("reviewer"))).toHaveLength(1)
    expect(await permitAt(service(), id)).toMatchObject({ state: "closed" })
  })
})

describe("POST /execute beside permits", () => {
  const service = standingService()

  test("answers as ever, and ignores the members of a permit", async () => {
    const { status, body } = await service().execute(request({ audience: AUDIENCE, reserve_tokens: 1 }))
    expect(status).toBe(200)
    expect(keysOf(body)).toEqual(["allow_token", "duration_ms", "ignored", "manifest", "ok", "run_id"])
    const bundle = await bundleOf(service(), { ...(await service().get("/health")), body })
    expect(objectAt(bundle, "sections").permit).toBeUndefined()
  })
})

describe("a service that opens no permits", () => {
  const service = standingService(() => ({ config: { permits: false } }))

  test("refuses to open one, and lists none", async () => {
    expect(await refusal(service(), sender => sender.post("/permits", asking()), 403)).toMatch(/opens no permits/)
    expect((await service().get("/permits")).body).toEqual({ ok: true, total: 0, limit: 50, offset: 0, permits: [] })
  })
})
