/** Mistakes that people make in rules, and rules that are right: docs/policy-and-review.md, "Mistakes that people make". */
import type { JsonValue } from "@runseal/canonical"
import type { ActTable } from "@runseal/core/act/act-table"
import { actReader, readAct } from "@runseal/core/act/read-act"
import { describe, expect, test } from "vitest"
import { examplePayload } from "./example-payload.ts"
import { loadPolicy } from "./load-policy.ts"
import { reviewRules } from "./rule-review.ts"

const TABLE = {
  name: "transfer",
  routes: ["payments/transfer"],
  names: {
    amount: { at: "/amount", type: "decimal", min: "0.01" },
    fee: { at: "/fee", type: "decimal", optional: true },
    payee: { at: "/payee", type: "ascii", case: "upper" },
    note: { at: "/note", type: "string" },
    path: { at: "/path", type: "ascii" },
    cc: { at: "/cc", type: "strings", optional: true },
    labels: { at: "/labels/*/name", type: "strings", case: "lower", optional: true },
  },
}
type Rule = { readonly [name: string]: JsonValue }
const policyOf = (...rules: readonly Rule[]): JsonValue => ({
  policy_id: "p",
  policy_name: "P",
  required_attested_fields: [],
  acts: [TABLE],
  rules: rules.map((rule, i) => ({ id: `rule-${i}`, act: "transfer", ...rule })),
})
const allow = (when: string): Rule => ({ effect: "allow", when })
const deny = (when: string): Rule => ({ effect: "deny", when })
const warningsOf = (...rules: readonly Rule[]): readonly string[] =>
  reviewRules(loadPolicy(policyOf(...rules))).flatMap(({ warnings }) => warnings)

const LARGE = 'context.act.amount.greaterThan(decimal("10000.0"))'
const TWO = "context.declared.approver_count >= 2"
const MODEL = 'context.declared has attested.model_name && context.declared.attested.model_name == "m"'

const ALLOWED = "rule-0 allows what a caller only has to declare"
const NOT_DENIED = "rule-0 does not deny a caller that declares otherwise"
const ENDS = "rule-0 lets through whatever ends as a pattern says"
const CLIMBS = "rule-0 lets through paths that climb out with .."
const SPELLING = "rule-0 stops a text in one spelling only"
const NO_TOKEN = "rule-0 stops nothing where no end user's token is presented"
const TREASURY = 'context.verified has end_user && context.verified.end_user.groups.contains("treasury")'
const LEFT_OUT = "rule-0 stops nothing where the number is left out"

describe("a warning names what callers can do about a rule", () => {
  test.each<readonly [rule: Rule, warning: string, attribute: string]>([
    [allow(TWO), ALLOWED, "(declared.approver_count)"],
    [allow(MODEL), ALLOWED, "(declared.attested.model_name)"],
    [allow(`!(${LARGE}) || ${TWO}`), ALLOWED, "(declared.approver_count)"],
    [
      allow(`if ${LARGE} then ${TWO} else context.declared.tokens < 5`),
      ALLOWED,
      "(declared.approver_count, declared.tokens)",
    ],
    [allow("!context.declared.data_labels.contains(context.bound.route_id)"), ALLOWED, "(declared.data_labels)"],
    [deny(`${LARGE} && !(${TWO})`), NOT_DENIED, "(declared.approver_count)"],
    [deny('context.declared.effect_kinds.contains("funds_transfer")'), NOT_DENIED, "(declared.effect_kinds)"],
    [deny(`!(${MODEL})`), NOT_DENIED, "(declared.attested.model_name)"],
    [allow('context.act.payee like "*@OURS.EXAMPLE"'), ENDS, "(act.payee)"],
    [deny('!(context.act.payee like "*@OURS.EXAMPLE")'), ENDS, "(act.payee)"],
    [allow('context.bound.route_id like "*/read"'), ENDS, "(bound.route_id)"],
    [allow('context.act.path like "/srv/*"'), CLIMBS, "(act.path)"],
    [deny('!(context.act.path like "/srv/*")'), CLIMBS, "(act.path)"],
    [deny('context.act.note == "gift"'), SPELLING, "(act.note)"],
    [allow('context.act.note != "gift"'), SPELLING, "(act.note)"],
    [deny('["gift", "gifts"].contains(context.act.note)'), SPELLING, "(act.note)"],
    [deny('context.act has cc && context.act.cc.contains("a@b.example")'), SPELLING, "(act.cc)"],
    [deny('context.act has fee && context.act.fee.greaterThan(decimal("1.0"))'), LEFT_OUT, "(act.fee)"],
    [deny('context.verified has end_user && context.verified.end_user.subject == "mallory"'), NO_TOKEN, "has end_user"],
    [allow('!(context.act has fee && context.act.fee.greaterThan(decimal("1.0")))'), LEFT_OUT, "(act.fee)"],
  ])("%j", (rule, warning, attribute) => {
    const found = warningsOf(rule)
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(warning)
    expect(found[0]).toContain(attribute)
  })

  test("of an allow that takes in routes which no table reads, and of one that takes in every route", () => {
    const wide = policyOf({ effect: "allow", act: "transfer" }, deny(LARGE))
    expect(reviewRules(loadPolicy(wide)).flatMap(({ warnings }) => warnings)).toEqual([])
    const { act: _act, ...routes } = { act: "", id: "wide", effect: "allow", routes: ["payments/*"] }
    const document = { policy_id: "p", policy_name: "P", required_attested_fields: [], acts: [TABLE], rules: [routes] }
    expect(reviewRules(loadPolicy(document))[0]?.warnings).toEqual([
      expect.stringContaining("wide allows routes beside those of a table"),
    ])
    const open = {
      ...document,
      acts: [],
      rules: [
        { id: "all", effect: "allow" },
        { id: "mails", effect: "deny", when: 'context.bound.route_id == "mail/send"' },
        { id: "posts", effect: "deny", routes: ["post/*"] },
      ],
    }
    expect(reviewRules(loadPolicy(open))[0]?.warnings).toEqual([
      expect.stringContaining("all allows every route, and callers choose it: mails, posts can be passed by"),
    ])
  })
})

test.each<readonly [rules: readonly Rule[]]>([
  [[{ effect: "allow" }]],
  [[allow(`${TWO} && !(${LARGE})`)]],
  [[deny(LARGE)]],
  [[allow(TREASURY)]],
  [[deny(`!(${TREASURY})`)]],
  [[deny(TREASURY), deny("!(context.verified has end_user)")]],
  [[deny(`${LARGE} || ${TWO}`)]],
  [[deny('context.verified.region like "*-1"'), allow('context.verified.region like "*-1"')]],
  [[deny('context.act.payee == "DE1"'), allow('context.act.note == "salary"')]],
  [[allow('context.act.path like "/srv/*"'), deny('context.act.path like "*..*"')]],
  [[allow('context.act.path like "/srv/*" && !(context.act.path like "*..*")')]],
  [[deny('context.act has fee && context.act.fee.greaterThan(decimal("1.0"))'), deny("!(context.act has fee)")]],
  [[deny('context.act has labels && !["a"].containsAll(context.act.labels)')]],
])("no warning: %j", rules => {
  expect(warningsOf(...rules)).toEqual([])
})

test("a long condition is reviewed at once", () => {
  const since = performance.now()
  expect(warningsOf(deny(Array.from({ length: 180 }, () => TWO).join(" || ")))).toHaveLength(1)
  expect(warningsOf(deny(`${"if ".repeat(60)}${LARGE}${" then true else false".repeat(60)}`))).toEqual([])
  expect(performance.now() - since).toBeLessThan(5000)
})

test("what a rule rests on is named with whose word it is", () => {
  const [review] = reviewRules(loadPolicy(policyOf(deny(`${LARGE} && ${TWO} && context.verified.region == "local"`))))
  expect(review?.rests_on).toEqual([
    { word: "act", attributes: ["act.amount"] },
    { word: "bound", attributes: ["bound.route_id"] },
    { word: "verified", attributes: ["verified.region"] },
    { word: "declared", attributes: ["declared.approver_count"] },
  ])
})

test("a condition that asks for what no run has is named, also where it loads", () => {
  expect(warningsOf(allow("!(context.verified has enduser)"))).toEqual([
    "rule-0 asks for what no run has: there is no attribute verified.enduser",
  ])
  expect(warningsOf(allow("!(context.act has amounts)"))).toEqual([
    "rule-0 asks for what no run has: there is no attribute act.amounts",
  ])
})

describe("an example of a payload", () => {
  const table: ActTable = {
    name: "order",
    routes: ["orders/*"],
    closed: ["", "/items/*"],
    names: {
      count: { at: "/count", type: "integer", min: "2" },
      first: { at: "/lines/1/text", type: "string" },
      every: { at: "/items/*/sku", type: "strings", case: "upper" },
      total: { at: "/items/*/price", type: "sum", min: "5.0", max: "6.0" },
      most: { at: "/items/*/price", type: "max" },
      express: { at: "/express", type: "boolean" },
      tags: { at: "/tags", type: "strings" },
    },
  }
  test.each(["small", "large"] as const)("fits its table: %s", size => {
    const payload = examplePayload(table, size) ?? ""
    expect(readAct(actReader(table), payload)).toMatchObject({ unreadable: [], values: { length: 7 } })
  })

  test("is none where nothing fits", () => {
    const at = "/amount"
    const names = { one: { at, type: "boolean" as const }, other: { at, type: "string" as const } }
    expect(examplePayload({ ...table, closed: [], names }, "small")).toBeUndefined()
  })
})
