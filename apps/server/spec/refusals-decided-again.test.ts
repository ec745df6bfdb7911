/** Every refused outcome, of runs, openings and closes, is decided again from its sealed document alone. docs/verifier.md, "Decided again". */
import type { JsonObject } from "@runseal/canonical"
import { readDocument } from "@runseal/core/verify/document"
import { decidesAgain, type SealedDecision } from "@runseal/policy/decide-again"
import { parsePolicyDocument } from "@runseal/policy/policy-document"
import { expect, test } from "vitest"
import { eachDatabase } from "./database/databases.ts"
import { asking, costing, openedId } from "./harness/asked-permits.ts"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import { numberAt, objectAt } from "./harness/read-answer.ts"
import { CASES, SEVEN_STATES_POLICY, standingSevenStates } from "./harness/seven-states.ts"
import { standingService } from "./harness/test-service.ts"

/** A served document as far as its decision goes. */
function sealedIn(document: JsonObject): SealedDecision {
  const read = readDocument({ value: document, mayHoldNul: true })
  if (!("unreadable" in read)) {
    if (read.opening !== undefined) return { sections: read.opening.sections }
    if (read.forms !== undefined) return read.forms.bundle
  }
  throw new Error("neither a record nor an opening")
}

type Reader = Pick<Holder, "get">
const recordOf = async (reader: Reader, run: number): Promise<SealedDecision> =>
  sealedIn((await reader.get(`/runs/${run}/artifacts`)).body)
const openingOf = async (reader: Reader, id: string): Promise<SealedDecision> =>
  sealedIn(objectAt((await reader.get(`/permits/${id}`)).body, "opening"))

eachDatabase("runs of every outcome", open => {
  const { service, runId } = standingSevenStates(open)
  const decideAgain = decidesAgain([parsePolicyDocument(SEVEN_STATES_POLICY)])

  test.each(CASES)("%s", async name => {
    expect(decideAgain(await recordOf(service(), runId(name)))).toEqual({ from: "facts" })
  })
})

const policyOf = (policy_id: string, rules: readonly JsonObject[]): JsonObject => ({
  policy_id,
  policy_name: policy_id,
  required_attested_fields: [],
  rules: [
    { id: "all", effect: "allow" },
    { id: "dear", effect: "deny", when: "context.declared.tokens > 500" },
    { id: "mail", effect: "deny", when: 'context.declared.effect_kinds.contains("email")' },
    ...rules,
  ],
})
const FIRST = policyOf("first", [])
/** The clock of tests begins at noon. */
const LATER = policyOf("later", [
  { id: "closed-hours", effect: "deny", when: 'context.verified.clock > datetime("2026-05-04T12:01:00Z")' },
])

eachDatabase("closes of permits, with a policy and a clock rule loaded after their openings", open => {
  const service = standingService(() => ({ open, policy: FIRST }))
  const decideAgain = decidesAgain([parsePolicyDocument(FIRST)])
  const byLater = decidesAgain([parsePolicyDocument(LATER)])

  test("are decided as their openings were, by their openings' clock, and so again", async () => {
    const admin = await mint(service(), ADMIN)
    const ids = [await openedId(admin), await openedId(admin), await openedId(admin)] as const
    expect((await admin.post("/permits", asking({ reserve_tokens: 501 }))).body).toMatchObject({
      deny_receipt: { fired_rule_id: "dear" },
    })
    service().clock.advance(60_000)
    expect((await admin.post("/admin/policies", { policy: LATER })).status).toBe(201)
    const late = await admin.post("/permits", asking())
    expect(late.body).toMatchObject({ deny_receipt: { fired_rule_id: "closed-hours" } })
    expect(byLater(await recordOf(admin, numberAt(late.body, "run_id")))).toEqual({ from: "facts" })

    const [cheap, dear, mailed] = ids
    const bodies: readonly (readonly [id: string, body: JsonObject, rule: string])[] = [
      [cheap, costing(5), "all"],
      [dear, costing(600), "dear"],
      [mailed, { outcome: "completed", causal_graph: { effect_log: [{ effect_kind: "email" }] } }, "mail"],
    ]
    for (const [id, body, rule] of bodies) {
      const answer = await admin.post(`/permits/${id}/close`, body)
      const record = await recordOf(admin, numberAt(answer.body, "run_id"))
      expect(record.sections.policy_evaluation?.fired_rule_id).toBe(rule)
      for (const document of [record, await openingOf(admin, id)]) {
        expect(decideAgain(document)).toEqual({ from: "facts" })
        expect(byLater(document)).toEqual({ differs: ["policy_hash"] })
      }
    }
  })
})
