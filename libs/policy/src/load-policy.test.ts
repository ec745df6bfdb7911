import { readdirSync, readFileSync } from "node:fs"
import { getCedarSDKVersion } from "@cedar-policy/cedar-wasm/nodejs"
import { digest, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { ATTESTED_FIELDS, MAX_RULES } from "@runseal/core/vocabulary/decision-codes"
import { MAX_CONDITION_LENGTH } from "@runseal/core/wire/policy-document-schema"
import { describe, expect, test } from "vitest"
import { loadPolicy, policyPreimage } from "./load-policy.ts"
import { BUILT_IN_POLICY, PolicyError } from "./policy-document.ts"

const document = (rules: readonly JsonValue[], rest: Record<string, JsonValue> = {}): JsonValue => ({
  policy_id: "p",
  policy_name: "P",
  required_attested_fields: [],
  rules,
  ...rest,
})
const allowWhen = (when: string): JsonValue => document([{ id: "r", effect: "allow", when }])

describe("the policy document", () => {
  test("the built-in policy admits everything with the one rule baseline-permit and requires no field", () => {
    const policy = loadPolicy()
    expect(policy.required_attested_fields).toEqual([])
    expect(BUILT_IN_POLICY.rules.map(rule => rule.id)).toEqual(["baseline-permit"])
    expect(policy.policy_hash).toBe(digest(policyPreimage(BUILT_IN_POLICY)))
  })

  test.each<[string, JsonValue, string]>([
    ["no object", "policy", "its top level"],
    ["an unknown key", document([], { extra: 1 }), "extra"],
    ["a missing name", { policy_id: "p", required_attested_fields: [], rules: [] }, "policy_name"],
    ["a name with a line break", document([], { policy_name: "a\nb" }), "policy_name"],
    [
      "a field that is not attested",
      document([], { required_attested_fields: ["salary"] }),
      "required_attested_fields.0",
    ],
    [
      "a field named twice",
      document([], { required_attested_fields: ["actor_id", "actor_id"] }),
      "required_attested_fields",
    ],
    ["an unknown effect", document([{ id: "a", effect: "permit" }]), "rules.0.effect"],
    ["an unknown key of a rule", document([{ id: "a", effect: "allow", unless: "true" }]), "rules.0.unless"],
    ["an uppercase rule id", document([{ id: "MCD-PI-001", effect: "allow" }]), "rules.0.id"],
    ["the id default-deny", document([{ id: "default-deny", effect: "deny" }]), "rules.0.id"],
    ["the id policy-engine", document([{ id: "policy-engine", effect: "deny" }]), "rules.0.id"],
    [
      "two rules of one id",
      document([
        { id: "a", effect: "deny" },
        { id: "a", effect: "allow" },
      ]),
      "rules",
    ],
    ["a rule that requires nobody's approval", document([{ id: "a", effect: "require_approval" }]), "its top level"],
    [
      "an allow that names approvers",
      document([{ id: "a", effect: "allow", approval: { by: ["x"], count: 1, within_seconds: 60 } }]),
      "its top level",
    ],
    [
      "a group of approvers named twice",
      document([{ id: "a", effect: "require_approval", approval: { by: ["x", "x"], count: 1, within_seconds: 60 } }]),
      "rules.0.approval.by",
    ],
    [
      "nine approvers",
      document([{ id: "a", effect: "require_approval", approval: { by: ["x"], count: 9, within_seconds: 60 } }]),
      "rules.0.approval.count",
    ],
    ["an empty condition", allowWhen(""), "rules.0.when"],
    ["a condition beyond its bound", allowWhen(`true${" ".repeat(MAX_CONDITION_LENGTH)}`), "rules.0.when"],
    [
      "rules beyond their bound",
      document(Array.from({ length: MAX_RULES + 1 }, (_, i) => ({ id: `r${i}`, effect: "allow" }))),
      "rules",
    ],
  ])("is refused with %s", (_, json, place) => {
    expect(() => loadPolicy(json)).toThrow(PolicyError)
    expect(() => loadPolicy(json)).toThrow(`at "${place}"`)
  })

  test("the largest document of unconditional rules loads", () => {
    const rules = Array.from({ length: MAX_RULES }, (_, i) => ({ id: `r${i}`, effect: "allow" }))
    expect(loadPolicy(document(rules)).fixed_decision?.matched_rule_ids).toHaveLength(MAX_RULES)
  })
})

describe("a condition is exactly one Cedar expression", () => {
  test.each([
    "true }; permit(principal, action, resource) when { true",
    "true }; permit(principal, action, resource) unless { false",
    "true } unless { false",
    "true } when { true",
    '}; @id("x") permit(principal, action, resource) when { true',
    "true }; //",
    "true //\n}; permit(principal, action, resource) when { true",
  ])("%s is refused", when => {
    expect(() => loadPolicy(allowWhen(when))).toThrow(PolicyError)
  })

  test.each(['@id("x") true', "?principal == principal", "", "context.", "'single'", "true;", "{"])(
    "what does not parse is refused: %s",
    when => {
      expect(() => loadPolicy(allowWhen(when))).toThrow(PolicyError)
    },
  )

  test("a trailing comment does not reach beyond the expression", () => {
    expect(loadPolicy(allowWhen("context.verified.has_ai_output // note")).reads).toEqual(
      new Set(["verified.has_ai_output"]),
    )
  })
})

const nested = (open: string, innermost: string, close: string, times: number): string =>
  open.repeat(times) + innermost + close.repeat(times)

/** Each of them ends the engine's stack, at the load or at the first run, unless it is refused before. */
const TOO_DEEP: readonly (readonly [string, string])[] = [
  ["brackets", nested("(", "context.verified.has_ai_output", ")", 500)],
  ["a row of operators", Array(500).fill("1==1").join("||")],
  ["a sum", `1${"+1".repeat(1800)} > 1`],
  ["a row of calls", `datetime("2024-10-15")${".toDate()".repeat(400)} == datetime("2024-10-15")`],
  ["sets", `${nested("[", "1", "]", 900)} == [1]`],
  ["records", `${nested("{a:", "1", "}", 500)} == {a: 1}`],
  ["negations", nested("!(", "context.verified.has_ai_output", ")", 500)],
  ["arguments", nested("[true].contains(", "true", ")", 200)],
  ["both sides", `${nested("(", "1", ")", 30)}${"+1".repeat(190)} > 1`],
  ["what follows a comment that ends at a carriage return", `// \r${nested("(", "true", ")", 500)}`],
]

describe("a condition is not deeper than the engine bears", () => {
  test.each([
    '["staff"].containsAll(context.verified.end_user.groups)',
    'context.verified.end_user.groups == ["treasury"]',
    "context.verified.end_user.groups.contains(context.bound.route_id)",
    "context.verified.end_user.groups.containsAny(context.declared.data_labels)",
    "context.declared.data_labels.containsAny(context.verified.end_user.groups)",
    "context.verified.end_user.groups.isEmpty()",
  ])("groups are compared with texts of the rule alone, since a run has no others: %s", when => {
    expect(() => loadPolicy(allowWhen(`context.verified has end_user && ${when}`))).toThrow(/reads groups otherwise/)
  })

  test("the groups that a policy names are those that its rules compare with, and no other text", () => {
    const groups = "context.verified.end_user.groups"
    const named = loadPolicy(
      allowWhen(
        `context.verified has end_user && context.bound.route_id == "x" && (${groups}.contains("a") || ${groups}.containsAny(["b", "c"]) || ${groups}.containsAll(["d"]))`,
      ),
    )
    expect(named.named_groups).toEqual(new Set(["a", "b", "c", "d"]))
    expect(loadPolicy(allowWhen("context.verified has end_user")).named_groups).toBeUndefined()
  })

  test.each(TOO_DEEP)("%s are refused, and the engine goes on", (_, when) => {
    expect(() => loadPolicy(allowWhen(when))).toThrow(/^Rule "r" is nested too deeply/)
    expect(loadPolicy(allowWhen("context.verified.has_ai_output")).policy_id).toBe("p")
  })

  test.each([
    ["40 brackets", nested("(", "context.verified.has_ai_output", ")", 39)],
    ["as many comparisons as a condition holds", Array(140).fill('context.bound.route_id=="a"').join("||")],
    ["a set of any size", `[${Array(900).fill('"a"').join(",")}].contains(context.bound.route_id)`],
    ["brackets inside a text", `context.bound.route_id == "${"(".repeat(500)}"`],
  ])("%s load", (_, when) => {
    expect(loadPolicy(allowWhen(when)).policy_id).toBe("p")
  })
})

describe("a condition is strictly validated against the schema of the request", () => {
  test.each([
    ["an unknown attribute", 'context.tenant == "x"'],
    ["an optional attribute without `has`", 'context.declared.attested.actor_id == "x"'],
    ["a comparison across types", 'context.verified.payload_bytes == "10"'],
    ["a malformed decimal", 'decimal("1,5").lessThan(decimal("2.0"))'],
    ["an unknown entity type", 'principal in Group::"x"'],
    ["a condition that is not boolean", "context.verified.payload_bytes"],
    ["a rule that can never apply", "false"],
    ["a string of mixed scripts", 'context.verified.tenant_id == "pаypal"'],
  ])("%s is refused", (_, when) => {
    expect(() => loadPolicy(allowWhen(when))).toThrow(/^Rule "r" does not validate: .*\.$/)
  })
})

describe("a condition that is refused is refused in words of our own, with the place", () => {
  test.each([
    ["context.bound.route_id ==", "is not a Cedar expression: at its end: the condition cannot be read from there on."],
    [
      '"é" == "é" &&\n  (context.verified.payload_bytes > 1 @@ true)',
      "is not a Cedar expression: at line 2, column 39: the condition cannot be read from there on.",
    ],
    [
      "context.bound.route_id == 'a'",
      "is not a Cedar expression: at line 1, column 27: texts begin and end with a double quote.",
    ],
    [
      "tenant == 1",
      "is not a Cedar expression: at line 1, column 1: there is no such name: attributes begin with `context.`, and texts have double quotes.",
    ],
    [
      "context.declared.approver_count / 2 > 1",
      "is not a Cedar expression: at line 1, column 1: the engine does not accept it.",
    ],
    [
      "true &&\n\n  context.x",
      "does not validate: at line 3, column 3: there is no attribute context.x, only context.bound, context.verified, context.declared.",
    ],
    [
      'context.declared has attested && context.declared.attested.actor == "a"',
      `does not validate: at line 1, column 34: there is no attribute context.declared.attested.actor, only ${ATTESTED_FIELDS.map(field => `context.declared.attested.${field}`).join(", ")}.`,
    ],
    [
      "context.declared has tokenz",
      "does not validate: there is no attribute context.declared.tokenz, only context.declared.registry_record_hash, context.declared.tokens, context.declared.approver_ids, context.declared.approver_count, context.declared.breached_thresholds, context.declared.human_in_loop_performed, context.declared.data_labels, context.declared.effect_kinds, context.declared.attested.",
    ],
    [
      'context.verified has end_user.sub && context.verified.end_user.sub == "x"',
      "does not validate: there is no attribute context.verified.end_user.sub, only context.verified.end_user.issuer, context.verified.end_user.subject, context.verified.end_user.audience, context.verified.end_user.client, context.verified.end_user.groups.",
    ],
    ['context["a\\"b"] == 1', "does not validate: at line 1, column 1: there is no such attribute."],
    [
      "context.declared.attested.actor_id == context.bound.route_id",
      "does not validate: at line 1, column 1: the attribute may be absent: ask `has` first.",
    ],
    ['true && context.verified.payload_bytes == "10"', "does not validate: at line 1, column 9: the types do not fit."],
    ["false", "does not validate: the rule matches no run."],
  ])("%s", (when, sentence) => {
    const second = document([
      { id: "a", effect: "deny" },
      { id: "r", effect: "allow", when },
    ])
    expect(() => loadPolicy(second)).toThrow(new PolicyError(`Rule "r" ${sentence}`))
  })
})

describe("policy_hash", () => {
  const rules = [
    { id: "b", effect: "allow", when: "context.verified.has_ai_output" },
    { id: "a", effect: "deny", description: "d", when: "context.verified.payload_bytes > 10" },
  ]
  const hash = loadPolicy(document(rules, { required_attested_fields: ["model_name", "actor_id"] })).policy_hash

  test("does not depend on the order in which rules and fields are written", () => {
    const reversed = document(rules.toReversed(), { required_attested_fields: ["actor_id", "model_name"] })
    expect(loadPolicy(reversed).policy_hash).toBe(hash)
    expect(loadPolicy(reversed).required_attested_fields).toEqual(["actor_id", "model_name"])
  })

  test.each<[string, JsonValue]>([
    ["policy_id", document(rules, { policy_id: "q", required_attested_fields: ["actor_id", "model_name"] })],
    ["policy_name", document(rules, { policy_name: "Q", required_attested_fields: ["actor_id", "model_name"] })],
    ["profile_tag", document(rules, { profile_tag: "t", required_attested_fields: ["actor_id", "model_name"] })],
    ["required fields", document(rules, { required_attested_fields: ["actor_id"] })],
    [
      "a condition",
      document([{ ...rules[0], when: "!context.verified.has_ai_output" }, rules[1]!], {
        required_attested_fields: ["actor_id", "model_name"],
      }),
    ],
    [
      "a description",
      document([rules[0]!, { ...rules[1], description: "e" }], {
        required_attested_fields: ["actor_id", "model_name"],
      }),
    ],
  ])("changes with %s", (_, changed) => {
    expect(loadPolicy(changed).policy_hash).not.toBe(hash)
  })

  test("commits to the engine and its version", () => {
    expect(policyPreimage(BUILT_IN_POLICY)).toMatchObject({
      engine: "cedar-wasm",
      engine_version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    })
  })
})

describe("the example policies", () => {
  const folder = new URL("../../../examples/policies/", import.meta.url)
  test.each(readdirSync(folder).filter(file => file.endsWith(".json")))("%s loads", file => {
    expect(loadPolicy(parseStrictJson(readFileSync(new URL(file, folder)))).policy_hash).toMatch(/^[0-9a-f]{64}$/)
  })
})

test("the built-in policy is decided without the engine as the engine decides it, and names the engine's version", () => {
  const builtIn = loadPolicy()
  // Under another name it is another policy, which the engine judges.
  const judged = loadPolicy(parseStrictJson(JSON.stringify({ ...BUILT_IN_POLICY, policy_name: "Another" })))
  expect([judged.texts, judged.fixed_decision]).toEqual([builtIn.texts, builtIn.fixed_decision])
  expect(builtIn.preimage).toMatchObject({ engine_version: getCedarSDKVersion() })
})
