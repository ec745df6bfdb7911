/** Requests for an approval, from the refusal to their one end. docs/api.md, "Approvals". */
import type { JsonObject } from "@runseal/canonical"
import { expect, test } from "vitest"
import { asking } from "./harness/asked-permits.ts"
import { numberAt, textAt } from "./harness/read-answer.ts"
import { standingService } from "./harness/test-service.ts"

const POLICY: JsonObject = {
  policy_id: "payments",
  policy_name: "Payments",
  required_attested_fields: [],
  acts: [{ name: "transfer", routes: ["payments/*"], names: { amount: { at: "/amount", type: "decimal" } } }],
  rules: [
    { id: "transfers", effect: "allow", act: "transfer" },
    {
      id: "two-people",
      effect: "require_approval",
      act: "transfer",
      when: 'context.act.amount.greaterThan(decimal("10000.0"))',
      approval: { by: ["treasury", "finance"], count: 2, within_seconds: 3600, end_user: "optional" },
    },
  ],
}
let amounts = 10_000
const transfer = (): JsonObject => ({
  route_id: "payments/transfer",
  payload: JSON.stringify({ amount: ++amounts }),
})

const service = standingService(() => ({ policy: POLICY, config: { approvals: "on" } }))

test("a request waits, and is withdrawn into a refused run", async () => {
  const asked = await service().post("/permits", asking(transfer()))
  expect(asked).toMatchObject({ status: 202, body: { state: "waiting" } })
  const id = textAt(asked.body, "approval_id")
  expect((await service().post(`/approvals/${id}/permit`, {})).status).toBe(202)
  const withdrawn = await service().request(`/approvals/${id}`, { method: "DELETE" })
  expect([withdrawn.status, await withdrawn.json()]).toMatchObject([200, { state: "refused" }])
  const refused = await service().post(`/approvals/${id}/permit`, {})
  expect(refused).toMatchObject({ status: 422, body: { explanation: { reason: "APPROVAL_WITHDRAWN" } } })
  expect(numberAt(refused.body, "run_id")).toBeGreaterThan(0)
})

test("a request expires into a refused run", async () => {
  const asked = await service().post("/permits", asking(transfer()))
  const id = textAt(asked.body, "approval_id")
  service().clock.advance(3_600_000)
  const refused = await service().post(`/approvals/${id}/permit`, {})
  expect(refused).toMatchObject({ status: 422, body: { explanation: { reason: "APPROVAL_EXPIRED" } } })
})

test("approved", async () => {
  const asked = await service().post("/permits", asking(transfer()))
  const id = textAt(asked.body, "approval_id")
  await service().db.transaction(async ({ sql }) => {
    for (const subject of ["anna", "ben"])
      await sql`insert into approval_decision (approval_id, subject, issuer, name, key_name, groups, proof, decision, decided_at, comment, comment_salt)
        values (${id}::text, ${subject}::text, '', '', 'key of', '["treasury"]', 'key', 'approve', ${service().clock.nowMs()}::bigint, '', '')`
    await sql`update approval set state = 'approved', decisions = 2 where approval_id = ${id}::text`
  })
  const collected = await service().post(`/approvals/${id}/permit`, {})
  expect(collected).toMatchObject({ status: 201 })
  const permit = textAt(collected.body, "permit_id")
  expect(textAt((await service().post(`/approvals/${id}/permit`, {})).body, "permit_id")).toBe(permit)
  const closed = await service().post(`/permits/${permit}/close`, { outcome: "completed" })
  expect(closed).toMatchObject({ status: 200 })
})
