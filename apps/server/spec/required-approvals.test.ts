/** Rules that require an approval. docs/policy-and-review.md, "Rules that require an approval". */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { JsonObject } from "@runseal/canonical"
import { expect, test } from "vitest"
import { testFolder } from "../../../libs/core/test/fixtures/test-folder.ts"
import { transferPolicy } from "./harness/approving-people.ts"
import { asking } from "./harness/asked-permits.ts"
import { ADMIN, mint } from "./harness/key-holders.ts"
import { numberAt, objectAt, textAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"
import { runVerifier } from "./harness/verifier.ts"

const folder = testFolder("runseal-approvals")
const POLICY = transferPolicy({
  id: "two-people",
  description: "Transfers above 10,000 need two people of the treasury.",
  when: 'context.act.amount.greaterThan(decimal("10000.0"))',
  approval: { by: ["treasury", "finance"], count: 2, within_seconds: 3600 },
})
const transfer = (amount: number): JsonObject => ({
  route_id: "payments/transfer",
  payload: JSON.stringify({ amount }),
  // Names that the agent writes are no approval.
  authorization_chain: { approvers: [{ actor_id: "anna" }, { actor_id: "ben" }] },
})

const on = standingService(() => ({ policy: POLICY, config: { approvals: "on" } }))
const off = standingService()

test("what it matches is refused, as a run and as an opening, and the record says whose approval is needed", async () => {
  const explanation = {
    reason: "APPROVAL_REQUIRED",
    rule_id: "two-people",
    description: "Transfers above 10,000 need two people of the treasury.",
    needed: ["2 of treasury or finance"],
    present: [],
    missing: ["end_user"],
    read: [{ name: "act.amount", value: "12500.0", word: "act" }],
  }
  const run = await on().execute(request(transfer(12_500)))
  expect(run).toMatchObject({
    status: 422,
    body: {
      explanation,
      error:
        "The policy gate denied the run before any kernel ran. Cause: rule two-people of the policy requires an approval: 2 of treasury or finance; the request has to name its end user, with X-End-User-Token.",
    },
  })
  const opening = await on().post("/permits", asking(transfer(12_500)))
  expect(opening).toMatchObject({ status: 422, body: { explanation } })
  expect((await on().execute(request(transfer(10_000)))).status).toBe(200)

  const { text, body } = await on().get(`/runs/${numberAt(run.body, "run_id")}/artifacts`)
  expect(objectAt(body, "sections", "policy_evaluation")).toMatchObject({
    matched_rule_ids: ["two-people"],
    needed: [{ rule_id: "two-people", by: ["treasury", "finance"], count: 2, within_seconds: 3600 }],
  })
  for (const [name, content] of [
    ["bundle.json", text],
    ["trust.json", (await on().get("/.well-known/runseal-trust.json")).text],
    ["policy.json", JSON.stringify(POLICY)],
  ] as const)
    writeFileSync(join(folder, name), content)
  const verified = await runVerifier(folder, ["bundle.json", "--trust", "trust.json", "--decided-by", "policy.json"])
  expect(verified).toMatchObject({ exit: 0, stdout: expect.stringContaining("DECIDED AGAIN") })
})

test("a policy with one does not load where approvals are off", async () => {
  const admin = await mint(off(), ADMIN)
  const loaded = await admin.post("/admin/policies", { policy: POLICY })
  expect(loaded.status).toBe(400)
  expect(textAt(loaded.body, "error")).toContain("start with --approvals on")
})
