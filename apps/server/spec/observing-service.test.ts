/** Runs that stop nothing: docs/concepts.md, "Observed run", and decision 0185. */
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { asking, closed, done, opened, openedId } from "./harness/asked-permits.ts"
import { ADMIN, caller, type Holder, mint } from "./harness/key-holders.ts"
import { newKey, sendKeyed } from "./harness/keyed.ts"
import { type Answer, at, expectRefused, keysOf, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { EICAR, request, spending } from "./harness/sample-requests.ts"
import { standingService, type TestService } from "./harness/test-service.ts"

/** The EICAR test string matches a signature, so the run is denied. */
const DENIED = request({ payload: EICAR })
const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----\n${"MIGHAgEAMBMGByqGSM49".repeat(5)}\n-----END PRIVATE KEY-----`
const OBSERVED = { status: 200, body: { ok: true, enforcement: "observe" } }

const bundleOf = async (service: TestService, answer: Answer): Promise<JsonObject> =>
  (await service.get(`/runs/${numberAt(answer.body, "run_id")}/artifacts`)).body

eachDatabase("a service that observes", open => {
  const service = standingService(() => ({
    open,
    config: { mode: "observe", runTokenBudget: 1000, windowTokenBudget: 1500, windowSeconds: 31_536_000 },
  }))

  test("answers an ok run as ever, with the mark", async () => {
    const answer = await service().execute(request())
    expect(answer).toMatchObject({ ...OBSERVED, body: { ...OBSERVED.body, outcome_kind: "ok" } })
    expect(keysOf(answer.body)).toEqual(
      ["allow_token", "duration_ms", "enforcement", "manifest", "ok", "outcome_kind", "run_id"].sort(),
    )
  })

  test.each([
    ["pepg_deny", "deny_receipt", DENIED],
    ["ccv_halt", "ccv_halt_receipt", spending(1001)],
    ["aivp_t4_halt", "aivp_t4_halt_receipt", request({ ai_output_text: PRIVATE_KEY })],
    ["macc_halt", "macc_halt_receipt", spending(1000)],
  ])("seals %s and stops nothing", async (outcome_kind, receipt, body) => {
    if (outcome_kind === "macc_halt") await service().execute(spending(1000))
    const answer = await service().execute(body)
    expect(answer).toMatchObject({ ...OBSERVED, body: { ...OBSERVED.body, outcome_kind } })
    expect(keysOf(answer.body)).toContain(receipt)
    expect(keysOf(answer.body)).not.toContain("allow_token")
    const bundle = await bundleOf(service(), answer)
    expect(objectAt(bundle, "sections", "envelope").enforcement).toBe("observe")
    expect(textAt(bundle, "run", "outcome_kind")).toBe(outcome_kind)
  })

  test("marks its runs in lists, and finds them by the mark and their outcome", async () => {
    await service().execute(DENIED)
    const { body } = await service().get("/runs/search?enforcement=observe&outcome_kind=pepg_deny&limit=1")
    expect(listAt(body, "runs")).toMatchObject([{ enforcement: "observe", outcome_kind: "pepg_deny" }])
    expect((await service().get("/runs/search?enforcement=enforce")).status).toBe(400)
  })

  test("refuses what is no run as ever", async () => {
    expect((await service().execute({ ...request(), program_id: "x" })).status).toBe(400)
    expect((await service().execute(request({ enforcement: "enforce" }))).status).toBe(400)
  })

  test("repeats an answer under its idempotency key byte for byte", async () => {
    const key = newKey()
    const [first, second] = [
      await sendKeyed(service(), "/execute", key, DENIED),
      await sendKeyed(service(), "/execute", key, DENIED),
    ]
    expect(first.status).toBe(200)
    expect(second.text).toBe(first.text)
  })

  test("states the mark in the signed statement of a run", async () => {
    const answer = await service().execute(DENIED)
    const { body } = await service().get(`/runs/${numberAt(answer.body, "run_id")}/statement.intoto.json`)
    const statement = JSON.parse(Buffer.from(textAt(body, "payload"), "base64").toString())
    expect(statement.predicate).toMatchObject({ outcome_kind: "pepg_deny", enforcement: "observe" })
  })
})

describe("permits of a service that observes", () => {
  const service = standingService(() => ({ config: { mode: "observe" } }))

  test("a refused one is a sealed receipt with status 200, and no permit", async () => {
    const answer = await service().post("/permits", asking({ payload: EICAR }))
    expect(answer).toMatchObject({ ...OBSERVED, body: { ...OBSERVED.body, outcome_kind: "pepg_deny" } })
    expect(keysOf(answer.body)).toContain("deny_receipt")
    expect(keysOf(answer.body)).not.toContain("permit")
  })

  test("an admitted one is a permit, and its close is observed too", async () => {
    const { body } = await opened(service())
    const [, claims = ""] = textAt(body, "permit").split(".")
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
      runseal: { enforcement: "observe" },
    })
    expect(textAt(body, "opening", "sections", "envelope", "enforcement")).toBe("observe")
    const answer = await closed(service(), textAt(body, "permit_id"), done({ ai_output_text: PRIVATE_KEY }))
    expect(answer).toMatchObject({ ...OBSERVED, body: { ...OBSERVED.body, outcome_kind: "aivp_t4_halt" } })
  })
})

describe("a service that enforces", () => {
  const service = standingService()

  test("marks no run, and refuses", async () => {
    const answer = await service().execute(DENIED)
    expect(answer.status).toBe(422)
    expect(keysOf(answer.body)).not.toContain("enforcement")
    expect(keysOf(objectAt(await bundleOf(service(), answer), "sections", "envelope"))).not.toContain("enforcement")
  })

  test("observes the run of a caller who asks for it", async () => {
    const answer = await service().execute({ ...DENIED, enforcement: "observe" })
    expect(answer).toMatchObject({ ...OBSERVED, body: { ...OBSERVED.body, outcome_kind: "pepg_deny" } })
  })

  test("opens and closes a permit in one mode, that of its opening", async () => {
    const id = await openedId(service())
    const refused = await service().post(`/permits/${id}/close`, done({ ai_output_text: PRIVATE_KEY }))
    expect(refused.status).toBe(422)
    const observed = await openedId(service(), { enforcement: "observe" })
    expect(await closed(service(), observed, done({ ai_output_text: PRIVATE_KEY }))).toMatchObject(OBSERVED)
  })
})

/** A span of a model, which becomes an observed run. */
const SPANS = {
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            {
              traceId: "a".repeat(32),
              spanId: "b".repeat(16),
              name: "call",
              attributes: [{ key: "gen_ai.operation.name", value: { stringValue: "chat" } }],
            },
          ],
        },
      ],
    },
  ],
}
const OBSERVE = { enforcement: "observe" }
const requests = (holder: Holder): readonly Promise<Answer>[] => [
  holder.execute(request(OBSERVE)),
  holder.post("/permits", asking(OBSERVE)),
  holder.post("/v1/traces", SPANS),
]

describe("who may ask to be observed only", () => {
  const keys = standingService()
  const everybody = standingService(() => ({ config: { allowObserve: "everybody" } }))
  const nobody = standingService(() => ({ config: { allowObserve: "nobody" } }))
  const observing = standingService(() => ({ config: { mode: "observe", allowObserve: "nobody" } }))
  let admin: Holder

  test("open mode, and then only keys that were made so: of others nothing is sealed", async () => {
    for (const answer of requests(caller(keys()))) expect((await answer).status).toBeLessThan(300)
    admin = await mint(keys(), ADMIN)
    const plain = await mint(keys(), { name: "plain", tier: "production" }, admin)
    const made = await mint(keys(), { name: "observer", tier: "production", observe: true }, admin)
    for (const holder of [admin, plain])
      for (const answer of requests(holder)) expectRefused(await answer, 403, "observe_not_allowed")
    expect(numberAt((await plain.get("/runs")).body, "total")).toBe(0)
    expect((await plain.execute(request())).status).toBe(200)
    for (const answer of requests(made)) expect((await answer).status).toBeLessThan(300)
    const listed = listAt((await admin.get("/admin/keys")).body, "keys")
    expect(listed.map(key => at(key, "observe"))).toEqual([undefined, undefined, true])
  })

  test("the right is given and taken away, as an event says; a repeated answer stays", async () => {
    const holder = await mint(keys(), { name: "changed", tier: "production" }, admin)
    const asked = (): Promise<Answer> => holder.execute(request(OBSERVE))
    const change = (observe: boolean | null) => admin.send("PATCH", `/admin/keys/${holder.id}`, { observe })
    expect((await change(true)).body).toMatchObject({ id: holder.id, observe: true })
    expect((await asked()).status).toBe(200)
    const key = newKey()
    const repeated = () => sendKeyed(keys(), "/execute", key, request(OBSERVE), holder.secret)
    const first = await repeated()
    expect(keysOf((await change(null)).body)).not.toContain("observe")
    expectRefused(await asked(), 403, "observe_not_allowed")
    expect((await repeated()).text).toBe(first.text)
    const { body } = await admin.get("/admin/audit?limit=1")
    expect(listAt(body, "events")[0]).toMatchObject({
      action: "key.change",
      before: { observe: true },
      after: { observe: false },
    })
    const auditor = { name: "audit", scope: "auditor", observe: true }
    expectRefused(await admin.post("/admin/keys", auditor), 400, "invalid_field")
  })

  test("everybody, or nobody, open mode too; where every run is observed, asking for it changes nothing", async () => {
    for (const answer of requests(caller(nobody()))) expectRefused(await answer, 403, "observe_not_allowed")
    for (const service of [everybody(), observing()]) {
      for (const answer of requests(await mint(service, ADMIN))) expect((await answer).status).toBeLessThan(300)
    }
    const made = await mint(nobody(), { ...ADMIN, observe: true })
    for (const answer of requests(made)) expectRefused(await answer, 403, "observe_not_allowed")
  })
})
