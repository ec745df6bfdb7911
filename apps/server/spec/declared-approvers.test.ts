/** Approvers that rules do not count are findings of the record. docs/pipeline.md, "Findings". */
import type { JsonObject } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { numberAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

/** Admits a run exactly when one approver counts. */
const service = standingService(() => ({
  policy: {
    policy_id: "one-approver",
    policy_name: "One approver",
    required_attested_fields: [],
    rules: [{ id: "approved", effect: "allow", when: "context.declared.approver_count == 1" }],
  },
}))

const NOBODY = {}
const approver = (actor_id: string): JsonObject => ({ actor_id })
const [ACTOR, A, B] = [approver("agent"), approver("a"), approver("b")]
const approvedBy = (...approvers: readonly JsonObject[]): JsonObject =>
  request({ attested_context: ACTOR, authorization_chain: { approvers: [...approvers] } })
const found = (code: string, count: number): JsonObject => ({ code: `APPROVER_${code}`, count })

describe("approvers that rules do not count", () => {
  test.each<[string, JsonObject[], JsonObject[]]>([
    ["the same one twice", [A, A], [found("REPEATED", 1)]],
    ["the same one again and again", [A, { ...A, comment: "yes" }, { ...A, order: 2 }], [found("REPEATED", 2)]],
    ["one without a name", [A, NOBODY], [found("UNNAMED", 1)]],
    ["names of which nothing is seen", [approver(""), A, approver("\u200b \u2800")], [found("UNNAMED", 2)]],
    ["the actor", [ACTOR, A], [found("IS_ACTOR", 1)]],
    ["the actor twice, which is no repetition", [ACTOR, A, ACTOR], [found("IS_ACTOR", 2)]],
    [
      "all of them together",
      [A, NOBODY, ACTOR, A, ACTOR, A, NOBODY, NOBODY],
      [found("REPEATED", 2), found("UNNAMED", 3), found("IS_ACTOR", 2)],
    ],
  ])("%s: the run goes on, and its record says so", async (_, approvers, findings) => {
    const { status, body } = await service().execute(approvedBy(...approvers))
    expect(status).toBe(200)
    expect(body.findings).toEqual(findings)
    expect((await service().get(`/runs/${body.run_id}`)).body.findings).toEqual(findings)
    // What is no finding is what the rule counted.
    expect(approvers.length - findings.reduce((sum, each) => sum + numberAt(each, "count"), 0)).toBe(1)
  })

  test.each<[string, JsonObject[]]>([
    ["[A, B]", [A, B]],
    ["[A, A, B]", [A, A, B]],
    ["[{}]", [NOBODY]],
    ["the actor alone", [ACTOR]],
  ])("%s are not one approver for the rule", async (_, approvers) => {
    const { status, body } = await service().execute(approvedBy(...approvers))
    expect(status).toBe(422)
    expect(body).not.toHaveProperty("findings")
  })

  test("one approver of a name that differs in case is another, and nobody is the actor of a run without one", async () => {
    const { body } = await service().execute(approvedBy(A))
    expect(body).not.toHaveProperty("findings")
    const denied = await service().execute(approvedBy(A, approver("A")))
    expect(denied.status).toBe(422)
    const nobody = await service().execute(request({ authorization_chain: { approvers: [ACTOR, NOBODY] } }))
    expect(nobody.body.findings).toEqual([found("UNNAMED", 1)])
  })
})
