/** What a refusal rested on, in words: docs/report.md, "A refused run". */
import type { ApprovalsSection } from "@runseal/core/artifacts/approvals"
import type { ReadValue } from "@runseal/core/artifacts/explanation"
import { amountText, runAccount } from "@runseal/core/verify/run-account"
import { expect, test } from "vitest"
import { sealed } from "../../spec/harness/report-samples.ts"

const denied = sealed("pepg_deny", { denied_by: "rule", minimal: true })
const whyOf = (...read: readonly ReadValue[]): string | undefined =>
  runAccount(denied, { reason: "RULE_DENIED", rule_id: "large", read: [...read] }).why

test.each<readonly [ReadValue, string]>([
  [{ name: "declared.approver_count", value: "1", word: "declared", compared: "< 2" }, "approvals 1 of 2 (declared)"],
  [{ name: "declared.approver_count", value: "1", word: "declared", compared: "<= 1" }, "approvals 1 of 2 (declared)"],
  [
    { name: "declared.approver_count", value: "3", word: "declared", compared: "> 2" },
    "approvals 3 (declared), above 2",
  ],
  [{ name: "declared.approver_count", value: "3", word: "declared" }, "approvals 3 (declared)"],
  [{ name: "declared.human_in_loop_performed", value: "false", word: "declared" }, "human in the loop: no (declared)"],
  [{ name: "act.amount", value: "9.0", word: "act", compared: ">= 9.0" }, "amount 9.0 (act), exactly 9.00"],
  [{ name: "act.amount", value: "-1.5", word: "act", compared: "< 0.0" }, "amount -1.5 (act), below 0.00"],
  [{ name: "declared.attested.model_name", value: "m-1", word: "declared" }, "model name m-1 (declared)"],
  [{ name: "verified.region", value: "eu-1", word: "verified" }, "region eu-1 (verified)"],
])("of %j", (value, text) => {
  expect(whyOf(value)).toContain(text)
})

const [CARLA, DAN] = ["carla", "dan"].map(subject => ({
  decision: "approve" as const,
  person: { subject },
  groups: ["treasury"],
  proof: "idp" as const,
  decided_at: "2026-05-04T12:00:00.000Z",
}))
/** Why a run was refused for which one of the treasury and one of the board have to approve. */
function refusedWith(approvals: ApprovalsSection): string | undefined {
  const evaluation = denied.sections.policy_evaluation
  if (evaluation === undefined) throw new Error("the run has an evaluation")
  const needed = ["treasury", "board"].map(group => ({ rule_id: group, by: [group], count: 1, within_seconds: 60 }))
  const sections = { ...denied.sections, policy_evaluation: { ...evaluation, needed }, approvals }
  return runAccount({ ...denied, sections }, { reason: "APPROVAL_EXPIRED" }).why
}

test("approvals are counted for each rule: two of one group are not one of another", () => {
  const decisions = [CARLA, DAN].flatMap(one => one ?? [])
  const approvals = {
    kind: "vfa.approvals.v1",
    salt: "0".repeat(64),
    approval_id: `apr-${"0".repeat(32)}`,
    request_hash: "0".repeat(64),
    requested_at: "2026-05-04T12:00:00.000Z",
    expires_at: "2026-05-04T12:01:00.000Z",
    outcome: "expired",
    decisions,
    hash: "0".repeat(64),
  } as const
  expect(refusedWith(approvals)).toMatch(/^approvals 1 of 1 \(treasury\), 0 of 1 \(board\)/)
  expect(refusedWith({ ...approvals, decisions: [] })).toMatch(/^approvals 0 of 1 \(treasury\), 0 of 1 \(board\)/)
  const withheld = { kind: "vfa.approvals.v1", withheld: true, hash: "0".repeat(64) } as const
  expect(refusedWith(withheld)).toMatch(/^approvals withheld, 1 needed \(treasury\), 1 needed \(board\)/)
})

test("a decimal is written as an amount, with all its digits", () => {
  expect(["12500.0", "0.1234", "-1234567.5", "999.99", "7", "1e3"].map(amountText)).toEqual([
    "12,500.00",
    "0.1234",
    "-1,234,567.50",
    "999.99",
    "7.00",
    "1e3",
  ])
})

test("a text of a caller is cut in these lines, which the record has whole", () => {
  expect(whyOf({ name: "bound.route_id", value: "r".repeat(500), word: "bound" })).toMatch(/^route id r{96}… \(bound\)/)
})
