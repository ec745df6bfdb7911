/**
 * `POST /dcae/verify`: the core verifier over HTTP with the server's own trust. docs/api.md, "POST /dcae/verify";
 * docs/formats.md section 16.
 */
import type { JsonObject } from "@runseal/canonical"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { expectRefused, keysOf, listAt, objectAt, textAt } from "./harness/read-answer.ts"
import { minted } from "./harness/read-tables.ts"
import { request } from "./harness/sample-requests.ts"
import { CASES, STATE_OF, standingSevenStates } from "./harness/seven-states.ts"
import { openService, type TestService } from "./harness/test-service.ts"

const { service, answers, runId } = standingSevenStates()

const bundleText = async (name: (typeof CASES)[number]): Promise<string> =>
  (await service().get(`/runs/${runId(name)}/artifacts`)).text
const verify = (text: string) => service().postRaw("/dcae/verify", text)

test.each(CASES)("the bundle of %s, as served, verifies", async name => {
  const { status, body } = await verify(await bundleText(name))
  expect(status).toBe(200)
  const statement = name === "ok" ? [] : ["statement"]
  expect(keysOf(body)).toEqual(
    [
      ...["checks", "engine_version", "limitations", "ok", "outcome_kind"],
      ...[...statement, "verdict", "verified", "withheld"],
    ].sort(),
  )
  expect(body).toMatchObject({
    ok: true,
    outcome_kind: STATE_OF[name],
    withheld: [],
    verified: true,
    verdict: "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
    engine_version: expect.stringMatching(/^runseal-verify-/),
  })
  for (const check of listAt(body, "checks")) {
    expect(keysOf(check)).toEqual(["id", "message", "result"])
    expect(["pass", "absent"]).toContain(textAt(check, "result"))
  }
  for (const limitation of listAt(body, "limitations"))
    expect(keysOf(limitation)).toEqual(["code", "sentence", "strict"])
  expect(listAt(body, "limitations").map(limitation => textAt(limitation, "code"))).toContain("operator_log")
})

test("a refusal that verifies says that it is one", async () => {
  const { body } = await verify(await bundleText("deny_by_rule"))
  expect(body).toMatchObject({
    verified: true,
    outcome_kind: "pepg_deny",
    statement: "The policy gate denied the run before any kernel ran.",
  })
})

test("withheld sections are named, and that they are is a limitation", async () => {
  const bundle = (await service().get(`/runs/${runId("ok")}/artifacts?form=full`)).body
  const sections = objectAt(bundle, "sections")
  const { kind, hash } = objectAt(sections, "causal_graph")
  const causal_graph = { kind: kind ?? "", withheld: true, hash: hash ?? "" }
  const { body } = await service().post("/dcae/verify", { ...bundle, sections: { ...sections, causal_graph } })
  expect(body).toMatchObject({ verified: true, withheld: ["causal_graph"] })
  const strict = listAt(body, "limitations").filter(limitation => objectAt(limitation).strict === true)
  expect(strict.map(limitation => textAt(limitation, "code"))).toContain("withheld_section")
})

test("a receipt document, as served, verifies", async () => {
  const { text } = await service().get(`/runs/${runId("ccv_halt")}/ccv-halt-receipt`)
  expect((await verify(text)).body).toMatchObject({ outcome_kind: "ccv_halt", withheld: [] })
  expect((await verify(text)).body).toMatchObject({ verified: true, verdict: "RECEIPT VERIFIED AND ANCHORED" })
})

test("a changed bundle fails, the check named", async () => {
  const { status, body } = await verify((await bundleText("ok")).replace('"eu-test-1"', '"eu-test-2"'))
  expect(status).toBe(200)
  expect(body).toMatchObject({ ok: true, verified: false, verdict: "FAILED" })
  expect(listAt(body, "checks").filter(check => textAt(check, "result") === "fail")).not.toEqual([])
})

test("a receipt that requires an entry and has none fails", async () => {
  const { body } = await service().get(`/runs/${runId("ccv_halt")}/ccv-halt-receipt`)
  const { receipt_anchor: _, ...bare } = body
  expect((await service().post("/dcae/verify", bare)).body).toMatchObject({ verified: false, verdict: "FAILED" })
})

test("a record dated ahead of the server's clock verifies, and that it is is a limitation", async () => {
  const ahead = await openService()
  try {
    const { body } = await ahead.execute(request())
    const { text } = await ahead.get(`/runs/${body.run_id}/artifacts`)
    const codes = async (): Promise<readonly string[]> => {
      const answer = await ahead.postRaw("/dcae/verify", text)
      expect(answer.body).toMatchObject({ verified: true })
      return listAt(answer.body, "limitations").map(limitation => textAt(limitation, "code"))
    }
    expect(await codes()).not.toContain("future_dated")
    ahead.clock.advance(-3_600_000)
    expect(await codes()).toContain("future_dated")
  } finally {
    await ahead.close()
  }
})

describe("documents that are none of ours", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["an empty object", "{}"],
    ["an array", "[]"],
    ["null", "null"],
    ["not JSON", "{"],
    ["a duplicate key", '{"kind":1,"kind":2}'],
    ["an unknown kind", '{"kind":"vfa.audit_bundle.v999"}'],
    ["a bundle without sections", '{"kind":"vfa.audit_bundle.v2"}'],
  ]
  test.each(cases)("%s is a 400", async (_name, text) => {
    expectRefused(await verify(text), 400)
  })

  test("an execute answer and an allow token alone are a 400 that says what to send", async () => {
    expect(expectRefused(await service().post("/dcae/verify", answers().ok.body), 400)).toContain("/artifacts")
  })
})

describe("another service's records", () => {
  let other: TestService | undefined
  beforeAll(async () => {
    other = await openService()
  })
  afterAll(() => other?.close())

  test("fail: the server trusts its own keys only", async () => {
    const { body } = await other!.execute(request())
    const { text } = await other!.get(`/runs/${body.run_id}/artifacts`)
    expect((await verify(text)).body).toMatchObject({ ok: true, verified: false, verdict: "FAILED" })
  })
})

test("a record of the deepest and widest request verifies too", async () => {
  const { attested_context } = objectAt(REQUEST)
  const wide = { values: Array.from({ length: 60_000 }, () => 1e15) }
  const { status, body } = await service().execute({
    ...REQUEST,
    attested_context: attested_context!,
    causal_graph: wide,
  })
  expect(status).toBe(200)
  const { text } = await service().get(`/runs/${body.run_id}/artifacts`)
  expect(text.length).toBeGreaterThan(1_000_000)
  expect((await verify(text)).body).toMatchObject({ verified: true })
})

test("verifying mints nothing", async () => {
  const before = await minted(service().db)
  await verify(await bundleText("ok"))
  expect(await minted(service().db)).toEqual(before)
})

const REQUEST: JsonObject = request({ attested_context: { actor_id: "agent-7", model_name: "model-a" } })
