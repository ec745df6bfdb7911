/** docs/api.md, "Explanation": the one number that a rule compares a value with. */
import { expect, test } from "vitest"
import { cedar } from "./cedar-engine.node.ts"
import { limitsOf } from "./rule-limits.ts"

function limits(condition: string): Readonly<Record<string, string>> {
  const parsed = cedar().policyToJson(`forbid(principal, action, resource) when { ${condition} };`)
  return parsed.type === "success" ? Object.fromEntries(limitsOf(parsed.json.conditions)) : { fault: condition }
}

test.each([
  [
    'context.act.amount.greaterThan(decimal("10000.0")) && context.declared.approver_count < 2',
    { "act.amount": "> 10000.0", "declared.approver_count": "< 2" },
  ],
  ["2 > context.declared.approver_count", { "declared.approver_count": "< 2" }],
  ["!(context.declared.approver_count >= 2)", { "declared.approver_count": ">= 2" }],
  ["context.declared.tokens > 10 || context.declared.tokens < 2", {}],
  ["context.declared.tokens > 10 && context.declared.tokens > 10", { "declared.tokens": "> 10" }],
  ["context.declared.tokens > context.declared.approver_count", {}],
  ["context.declared.tokens + 1 > 10", {}],
  ['context.bound.route_id == "a"', {}],
])("%s", (condition, expected) => {
  expect(limits(condition)).toEqual(expected)
})
