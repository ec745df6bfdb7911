import { preparseSchema, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs"
import type { JsonValue } from "@runseal/canonical"
import { POLICY_REASON_CODES } from "@runseal/core/vocabulary/decision-codes"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ruleSetOf } from "./engine-rules.ts"
import { evaluatePolicy } from "./evaluate-policy.ts"
import { loadPolicy } from "./load-policy.ts"
import { CEDAR_SCHEMA, cedarDecimal, cedarRequest, type PolicyInput } from "./policy-input.ts"

const input: PolicyInput = {
  program_id: "a".repeat(64),
  route_id: "payments/approve",
  registry_record_hash: "b".repeat(64),
  tenant_id: "api-key-7",
  execution_region: "eu-central-1",
  payload_bytes: 1200,
  declared_tokens: 900,
  approver_count: 1,
  data_labels: ["pii", "finance"],
  effect_kinds: ["email"],
  has_ai_output: true,
}
const rule = (id: string, effect: "allow" | "deny", when?: string): JsonValue => ({
  id,
  effect,
  ...(when === undefined ? {} : { when }),
})
const policyOf = (...rules: JsonValue[]) =>
  loadPolicy({ policy_id: "p", policy_name: "P", required_attested_fields: [], rules })
const allowedWhen = (when: string, seen: PolicyInput = input): boolean =>
  evaluatePolicy(policyOf(rule("r", "allow", when)), seen).decision === "allow"

/** Overflows for every payload of two bytes or more. */
const OVERFLOW = "context.payload_bytes * 9223372036854775807 > 0"

const text = fc.string({ unit: "binary", maxLength: 20 })
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER })
const policyInput: fc.Arbitrary<PolicyInput> = fc.record(
  {
    program_id: text,
    route_id: text,
    registry_record_hash: text,
    tenant_id: text,
    execution_region: text,
    payload_bytes: count,
    declared_tokens: count,
    approver_count: count,
    human_in_loop_performed: fc.boolean(),
    data_labels: fc.array(text, { maxLength: 4 }),
    effect_kinds: fc.array(text, { maxLength: 4 }),
    has_ai_output: fc.boolean(),
    attested: fc.record(
      {
        attested: fc.boolean(),
        actor_id: text,
        model_name: text,
        decision_note: text,
        model_temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
      },
      { requiredKeys: [] },
    ),
  },
  {
    requiredKeys: [
      "program_id",
      "route_id",
      "registry_record_hash",
      "tenant_id",
      "execution_region",
      "payload_bytes",
      "declared_tokens",
      "approver_count",
      "data_labels",
      "effect_kinds",
      "has_ai_output",
    ],
  },
)

describe("the decision", () => {
  test("the built-in policy allows every run with RULE_ALLOWED by baseline-permit", () => {
    expect(evaluatePolicy(loadPolicy(), input)).toEqual({
      decision: "allow",
      decision_reason_code: "RULE_ALLOWED",
      fired_rule_id: "baseline-permit",
      matched_rule_ids: ["baseline-permit"],
    })
  })

  test("an allow names the first matching rule by id and lists all of them sorted", () => {
    const policy = policyOf(
      rule("z", "allow", "true"),
      rule("a", "allow", "context.payload_bytes < 10"),
      rule("m", "allow", "context.has_ai_output"),
    )
    expect(evaluatePolicy(policy, input)).toEqual({
      decision: "allow",
      decision_reason_code: "RULE_ALLOWED",
      fired_rule_id: "m",
      matched_rule_ids: ["m", "z"],
    })
  })

  test("one deny rule outweighs every allow rule, and only deny rules are named", () => {
    const policy = policyOf(rule("a", "allow"), rule("y", "deny", "context.has_ai_output"), rule("x", "deny", "true"))
    expect(evaluatePolicy(policy, input)).toEqual({
      decision: "deny",
      decision_reason_code: "RULE_DENIED",
      fired_rule_id: "x",
      matched_rule_ids: ["x", "y"],
    })
  })

  test.each([
    ["no rule at all", policyOf()],
    ["no matching rule", policyOf(rule("a", "allow", "context.payload_bytes < 10"))],
  ])("with %s the run is denied by default", (_, policy) => {
    expect(evaluatePolicy(policy, input)).toEqual({
      decision: "deny",
      decision_reason_code: "DEFAULT_DENY",
      fired_rule_id: "default-deny",
      matched_rule_ids: [],
    })
  })
})

describe("of more policies than the engine holds", () => {
  const routed = (n: number) => policyOf(rule(`r${n}`, "allow", `context.route_id == "route ${n}"`))
  const policies = Array.from({ length: 40 }, (_, n) => routed(n))

  test("each decides by its own rules", () => {
    for (const [n, policy] of [...policies.entries(), ...policies.entries()])
      expect(evaluatePolicy(policy, { ...input, route_id: `route ${n}` }).matched_rule_ids).toEqual([`r${n}`])
  })

  test("it holds a few, each under a name of its own", () => {
    expect(new Set(policies.map(ruleSetOf)).size).toBe(8)
    const [last, before] = policies.slice(-2).map(ruleSetOf)
    expect(last).not.toBe(before)
    expect(policies.slice(-2).map(ruleSetOf)).toEqual([last, before])
  })
})

describe("an evaluation error denies", () => {
  const error = (fired_rule_id: string) => ({
    decision: "deny",
    decision_reason_code: "POLICY_EVALUATION_ERROR",
    fired_rule_id,
    matched_rule_ids: [],
  })

  test("a deny rule that errors denies although the engine would have skipped it and allowed", () => {
    const policy = policyOf(rule("a", "allow"), rule("b", "deny", OVERFLOW))
    const answer = statefulIsAuthorized({
      ...cedarRequest(input),
      preparsedPolicySetId: ruleSetOf(policy),
      entities: [],
    })
    expect(answer).toMatchObject({ response: { decision: "allow" } })
    expect(evaluatePolicy(policy, input)).toEqual(error("b"))
  })

  test("an allow rule that errors denies although another allows; the first by id is named", () => {
    expect(
      evaluatePolicy(policyOf(rule("a", "allow"), rule("z", "allow", OVERFLOW), rule("c", "allow", OVERFLOW)), input),
    ).toEqual(error("c"))
  })

  test("a request the engine cannot read denies and names no rule", () => {
    const policy = policyOf(rule("a", "allow", "context.has_ai_output"))
    expect(evaluatePolicy(policy, { ...input, route_id: "\ud800" })).toEqual(error("policy-engine"))
    expect(evaluatePolicy(policy, { ...input, payload_bytes: 1.5 })).toEqual(error("policy-engine"))
  })

  test("it never throws and answers only its closed codes", () => {
    const policy = policyOf(
      rule("a", "allow", 'context has human_in_loop_performed || context.route_id like "*a*"'),
      rule(
        "b",
        "deny",
        'context has attested && context.attested has model_temperature && context.attested.model_temperature.greaterThan(decimal("1.0"))',
      ),
    )
    fc.assert(
      fc.property(policyInput, seen => {
        const decision = evaluatePolicy(policy, seen)
        expect(POLICY_REASON_CODES).toContain(decision.decision_reason_code)
        expect(decision.decision === "allow").toBe(decision.decision_reason_code === "RULE_ALLOWED")
      }),
    )
  })
})

describe("the context", () => {
  test("an absent fact is an absent attribute", () => {
    expect(allowedWhen("context has attested")).toBe(false)
    expect(allowedWhen("context has attested", { ...input, attested: {} })).toBe(true)
    expect(allowedWhen("context has attested && context.attested has actor_id", { ...input, attested: {} })).toBe(false)
    expect(allowedWhen("context has human_in_loop_performed")).toBe(false)
    expect(
      allowedWhen("context has human_in_loop_performed && !context.human_in_loop_performed", {
        ...input,
        human_in_loop_performed: false,
      }),
    ).toBe(true)
  })

  test("carries the declared facts with their types", () => {
    expect(allowedWhen('principal == Tenant::"api-key-7" && context.tenant_id == "api-key-7"')).toBe(true)
    expect(allowedWhen(`resource == Program::"${"a".repeat(64)}"`)).toBe(true)
    expect(allowedWhen('context.data_labels.contains("pii") && context.effect_kinds == ["email"]')).toBe(true)
    expect(allowedWhen('context.route_id like "payments/*" && context.approver_count == 1')).toBe(true)
    expect(allowedWhen("context.declared_tokens <= 1000 && context.payload_bytes == 1200")).toBe(true)
    expect(
      allowedWhen("context.payload_bytes == 9007199254740991", { ...input, payload_bytes: Number.MAX_SAFE_INTEGER }),
    ).toBe(true)
  })

  test("a string that looks like an engine escape stays a string", () => {
    const seen = { ...input, attested: { actor_id: '{"__extn":{"fn":"decimal","arg":"1.0"}}' } }
    expect(
      allowedWhen('context has attested && context.attested has actor_id && context.attested.actor_id like "{*"', seen),
    ).toBe(true)
  })

  test("every request it builds is valid against the schema that rules are validated against", () => {
    expect(preparseSchema("request", CEDAR_SCHEMA).type).toBe("success")
    const preparsedPolicySetId = ruleSetOf(policyOf(rule("a", "allow", "context.has_ai_output")))
    const wellFormed = policyInput.filter(
      seen => JSON.stringify(seen).isWellFormed() && !JSON.stringify(seen).includes("\\ud"),
    )
    fc.assert(
      fc.property(wellFormed, seen => {
        const call = { ...cedarRequest(seen), preparsedPolicySetId, entities: [] }
        const answer = statefulIsAuthorized({ ...call, preparsedSchemaName: "request", validateRequest: true })
        expect(answer).toMatchObject({ type: "success", response: { diagnostics: { errors: [] } } })
      }),
    )
  })
})

describe("model_temperature", () => {
  const hot =
    'context has attested && context.attested has model_temperature && context.attested.model_temperature.greaterThan(decimal("1.0"))'
  const withTemperature = (model_temperature: number): PolicyInput => ({ ...input, attested: { model_temperature } })

  test("is a decimal of at most four digits", () => {
    expect(allowedWhen(hot, withTemperature(1.0001))).toBe(true)
    expect(allowedWhen(hot, withTemperature(1))).toBe(false)
    expect(allowedWhen(hot, withTemperature(-0.7))).toBe(false)
  })

  test.each([1.00001, 1e21, 1e-7, 0.1 + 0.2])("%d, which no decimal expresses, denies when a rule reads it", value => {
    const policy = policyOf(rule("a", "allow"), rule("hot", "deny", hot))
    expect(evaluatePolicy(policy, withTemperature(value))).toMatchObject({
      decision: "deny",
      decision_reason_code: "POLICY_EVALUATION_ERROR",
      fired_rule_id: "hot",
    })
  })

  test("is no obstacle when no rule reads it", () => {
    expect(
      evaluatePolicy(policyOf(rule("a", "allow", "context has attested")), withTemperature(1.00001)).decision,
    ).toBe("allow")
  })

  test.each(["context.attested has model_temperature", "context has attested.model_temperature"])(
    "%s counts as reading it",
    expression => {
      expect(policyOf(rule("a", "allow", `context has attested && ${expression}`)).temperature_rule_ids).toEqual(["a"])
    },
  )

  test("its decimal is the same number or none", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.double(),
          fc.integer({ min: -99999, max: 99999 }).map(n => n / 10000),
        ),
        value => {
          const decimal = cedarDecimal(value)
          expect(decimal === undefined || (Number(decimal) === value && /^-?\d{1,14}\.\d{1,4}$/.test(decimal))).toBe(
            true,
          )
        },
      ),
    )
  })
})

describe("a policy without conditions", () => {
  test("decides without the engine exactly as the engine does", () => {
    const effects = fc.array(fc.constantFrom("allow" as const, "deny" as const), { maxLength: 5 })
    fc.assert(
      fc.property(effects, chosen => {
        const fixed = policyOf(...chosen.map((effect, i) => rule(`r${i}`, effect)))
        const evaluated = policyOf(...chosen.map((effect, i) => rule(`r${i}`, effect, "true")))
        expect(chosen.length > 0 && evaluated.fixed_decision !== undefined).toBe(false)
        expect(fixed.fixed_decision).toEqual(evaluatePolicy(evaluated, input))
      }),
    )
  })
})
