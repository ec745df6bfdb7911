/** What a search finds beside the columns of a run: docs/api.md, "GET /runs" and "GET /runs/search". */
import type { JsonObject } from "@runseal/canonical"
import { beforeAll, describe, expect, test } from "vitest"
import { clearDeclaredTerms } from "../src/store/tables/run-terms.ts"
import { eachDatabase } from "./database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "./harness/key-holders.ts"
import { expectRefused, listAt, numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { EICAR, request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const approvedBy = (...ids: readonly string[]): JsonObject => ({
  authorization_chain: { approvers: ids.map((actor_id, order) => ({ order, actor_id })) },
})
const attested = (actor_id: string, model_name: string): JsonObject => ({
  attested_context: { attested: true, actor_id, model_name },
})
const DAY_MS = 86_400_000

eachDatabase("a search", open => {
  const service = standingService(() => ({ open }))
  let admin: Holder
  let acme: Holder
  let other: Holder

  const found = async (query: Record<string, string>, caller: Holder = acme): Promise<readonly number[]> => {
    const { status, body, text } = await caller.get(`/runs/search?${new URLSearchParams(query)}`)
    expect(status, text).toBe(200)
    const ids = listAt(body, "runs").map(run => numberAt(run, "id"))
    expect(numberAt(body, "total")).toBe(ids.length)
    return ids
  }
  const sectionOf = async (id: number, name: string): Promise<JsonObject> =>
    objectAt(objectAt((await acme.get(`/runs/${id}/artifacts`)).body.sections)[name])

  beforeAll(async () => {
    admin = await mint(service(), ADMIN)
    acme = await mint(service(), CUSTOMER, admin)
    other = await mint(service(), CUSTOMER, admin)
    const bodies = [
      request({ ...attested("ada", "model-a"), ...approvedBy("anna", "bert", "anna") }),
      request({ ...attested("ada", "model-b"), payload: "another" }),
      request({ ...attested("eve", "model-a"), payload: EICAR }),
      request(approvedBy("anna")),
    ]
    for (const body of bodies) {
      await acme.execute(body)
      service().clock.advance(DAY_MS)
    }
    await other.execute(request(attested("ada", "model-a")))
  })

  describe("finds runs by", () => {
    test("actor, model and approver, each exactly and within the caller's own runs", async () => {
      expect(await found({ actor_id: "ada" })).toEqual([2, 1])
      expect(await found({ actor_id: "ada" }, other)).toEqual([5])
      expect(await found({ actor_id: "Ada" })).toEqual([])
      expect(await found({ model_name: "model-a" })).toEqual([3, 1])
      expect(await found({ approver: "anna" })).toEqual([4, 1])
      expect(await found({ approver: "bert" })).toEqual([1])
      expect(await found({ approver: "ada" })).toEqual([])
    })

    test("a name, composed or decomposed as it was typed", async () => {
      const [composed, decomposed] = ["Zo\u00eb", "Zoe\u0308"]
      const zoe = await mint(service(), { name: "zoe" }, admin)
      const ids: number[] = []
      for (const name of [composed, decomposed])
        ids.unshift(
          numberAt((await zoe.execute(request({ ...attested(name, name), ...approvedBy(name) }))).body, "run_id"),
        )
      for (const name of [composed, decomposed])
        for (const field of ["actor_id", "model_name", "approver"])
          expect(await found({ [field]: name }, zoe), field).toEqual(ids)
    })

    test("the hash of the payload and the envelope", async () => {
      const payload_hash = textAt(await sectionOf(2, "payload"), "payload_hash")
      expect(await found({ payload_hash })).toEqual([2])
      expect(await found({ envelope_id: textAt(await sectionOf(4, "envelope"), "envelope_id") })).toEqual([4])
      expect(await found({ payload_hash: "0".repeat(64) })).toEqual([])
    })

    test("the rule that decided, of completed and of denied runs", async () => {
      const denied = textAt(await sectionOf(3, "policy_evaluation"), "fired_rule_id")
      const allowed = textAt(await sectionOf(1, "policy_evaluation"), "fired_rule_id")
      expect(await found({ rule_id: denied })).toEqual([3])
      expect(await found({ rule_id: allowed })).toEqual([4, 2, 1])
    })

    test("the outcome under both names, and the stage it ended at", async () => {
      expect(await found({ outcome_kind: "pepg_deny" })).toEqual([3])
      expect(await found({ outcome_kind: "ok" })).toEqual([4, 2, 1])
      expect(await found({ outcome_kind: "ok", status: "ok" })).toEqual([4, 2, 1])
      expect(await found({ error_stage: "PEPG" })).toEqual(await found({ status: "pepg_deny" }))
      expect(await found({ error_stage: "DLA" })).toEqual([])
    })

    test("several of them together, with the other filters", async () => {
      expect(await found({ actor_id: "ada", model_name: "model-a" })).toEqual([1])
      expect(await found({ model_name: "model-a", status: "ok" })).toEqual([1])
      expect(await found({ model_name: "model-a", error_stage: "PEPG", actor_id: "eve" })).toEqual([3])
      const second = textAt((await acme.get("/runs/2")).body, "created_at").slice(0, 10)
      expect(await found({ actor_id: "ada", from: second, to: second })).toEqual([2])
    })

    test("and pages what it finds", async () => {
      const { body } = await acme.get("/runs/search?actor_id=ada&limit=1&offset=1")
      expect(body).toMatchObject({ total: 2, runs: [{ id: 1 }] })
    })
  })

  test.each([
    ["outcome_kind=denied", /^outcome_kind must be/],
    ["status=ok&outcome_kind=pepg_deny", /^status and outcome_kind must be equal/],
    ["error_stage=", /^error_stage must be/],
    ["error_stage=pepg", /^error_stage must be/],
    ["payload_hash=ab", /^payload_hash must be/],
    ["envelope_id=1", /^envelope_id /],
    ["actor_id=", /^actor_id must be/],
    [`approver=${"a".repeat(513)}`, /^approver must be/],
    ["rule_id=a%00b", /^rule_id must be/],
  ])("%s is a 400", async (query, sentence) => {
    expect(expectRefused(await acme.get(`/runs/search?${query}`), 400)).toMatch(sentence)
  })

  test("approvers beyond the 64th, and values under one hash, do no harm", async () => {
    const ids = Array.from({ length: 70 }, (_, i) => `approver-${i}`)
    const run = await other.execute(request(approvedBy(...ids, ...ids)))
    expect(run.status).toBe(200)
    expect(await found({ approver: "approver-63" }, other)).toEqual([numberAt(run.body, "run_id")])
    expect(await found({ approver: "approver-64" }, other)).toEqual([])
  })

  test("what is indexed of declared sections can be cleared: of old runs, of one key, of all; the rest stays", async () => {
    const third = Date.parse(textAt((await acme.get("/runs/3")).body, "created_at"))
    expect(await clearDeclaredTerms(service().db, third, acme.id)).toMatchObject({ cleared: 6 })
    expect(await found({ actor_id: "ada" })).toEqual([])
    expect(await found({ actor_id: "eve" })).toEqual([3])
    expect(await found({ actor_id: "ada" }, other)).toEqual([5])
    expect(await found({ approver: "anna" })).toEqual([4])
    await clearDeclaredTerms(service().db, Number.MAX_SAFE_INTEGER, undefined)
    for (const [name, value] of [
      ["actor_id", "eve"],
      ["approver", "anna"],
      ["model_name", "model-a"],
    ] as const)
      expect(await found({ [name]: value })).toEqual([])
    expect(await found({ actor_id: "ada" }, other)).toEqual([])
    expect(await found({ payload_hash: textAt(await sectionOf(2, "payload"), "payload_hash") })).toEqual([2])
    expect(await clearDeclaredTerms(service().db, Number.MAX_SAFE_INTEGER, undefined)).toEqual({
      cleared: 0,
      remaining: 0,
    })
  })
})
