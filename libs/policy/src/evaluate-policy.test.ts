import { preparseSchema, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs"
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { type ApprovalDecision, type ApprovalOutcome, ENDED_REASONS } from "@runseal/core/artifacts/approvals"
import { CONTEXT_ROWS, cedarRequest, cedarSchema, type PolicyFacts } from "@runseal/core/formulas/policy-context"
import { POLICY_REASON_CODES } from "@runseal/core/vocabulary/decision-codes"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { evaluatePolicy } from "./decide.ts"
import { ruleSetOf } from "./engine-rules.ts"
import { type CompiledPolicy, loadPolicy } from "./load-policy.ts"

const input: PolicyFacts = {
  program_id: "a".repeat(64),
  route_id: "payments/approve",
  registry_record_hash: "b".repeat(64),
  tenant_id: "api-key-7",
  execution_region: "eu-central-1",
  admission_clock: "2026-05-04T12:00:00.000Z",
  payload_bytes: 1200,
  tokens: 900,
  has_ai_output: true,
  declared: {
    authorization_chain: { approvers: [{ actor_id: "one" }] },
    regulatory_scaffolding: { data_classification: { gdpr: ["pii", "finance"] } },
    causal_graph: { effect_log: [{ effect_kind: "email" }] },
  },
}
const rule = (id: string, effect: "allow" | "deny", when?: string): JsonValue => ({
  id,
  effect,
  ...(when === undefined ? {} : { when }),
})
const policyOf = (...rules: JsonValue[]) =>
  loadPolicy({ policy_id: "p", policy_name: "P", required_attested_fields: [], rules })
const decided = (policy: CompiledPolicy, seen: PolicyFacts) => evaluatePolicy(policy, seen).decision
const allowedWhen = (when: string, seen: PolicyFacts = input): boolean =>
  decided(policyOf(rule("r", "allow", when)), seen).decision === "allow"

/** Overflows for every payload of two bytes or more. */
const OVERFLOW = "context.verified.payload_bytes * 9223372036854775807 > 0"

const text = fc.string({ unit: "binary", maxLength: 20 })
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER })
const policyFacts: fc.Arbitrary<PolicyFacts> = fc.record({
  program_id: text,
  route_id: text,
  registry_record_hash: text,
  tenant_id: text,
  execution_region: text,
  admission_clock: fc.constantFrom("2026-05-04T12:00:00.000Z", "1970-01-01T00:00:00.000Z"),
  payload_bytes: count,
  tokens: count,
  has_ai_output: fc.boolean(),
  declared: fc.record(
    {
      attested_context: fc.record(
        {
          attested: fc.boolean(),
          actor_id: text,
          model_name: text,
          decision_note: text,
          model_temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
        },
        { requiredKeys: [] },
      ),
      authorization_chain: fc.record(
        {
          approvers: fc.array(fc.record({ actor_id: text })),
          human_in_loop: fc.record({ performed: fc.boolean() }),
          threshold_checks: fc.array(fc.record({ name: text, breached: fc.boolean() })),
        },
        { requiredKeys: [] },
      ),
      regulatory_scaffolding: fc.record({ data_classification: fc.record({ gdpr: fc.array(text, { maxLength: 4 }) }) }),
      causal_graph: fc.record({ effect_log: fc.array(fc.record({ effect_kind: text }), { maxLength: 4 }) }),
    },
    { requiredKeys: [] },
  ),
})
const attesting = (attested_context: JsonObject): PolicyFacts => ({ ...input, declared: { attested_context } })

/** Asks each attribute of the context something that is true whatever it is. */
const READS_ALL = Object.entries(CONTEXT_ROWS)
  .flatMap(([path, rows]) =>
    Object.entries(rows).map(([name, { optional }]) => {
      const attribute = `context.${path}.${name}`
      const has = `context.${path} has ${name}`
      // Groups are compared with texts only.
      const isSame = name === "groups" ? `(${attribute}.contains("x") || true)` : `${attribute} == ${attribute}`
      const [parent, record] = path.split(".")
      const asked = record === undefined ? has : `context.${parent} has ${record} && ${has}`
      return optional === true || record !== undefined ? `(if ${asked} then ${isSame} else true)` : `(${isSame})`
    }),
  )
  .join(" && ")

describe("the decision", () => {
  test("the built-in policy allows every run with RULE_ALLOWED by baseline-permit", () => {
    expect(decided(loadPolicy(), input)).toEqual({
      decision: "allow",
      decision_reason_code: "RULE_ALLOWED",
      fired_rule_id: "baseline-permit",
      matched_rule_ids: ["baseline-permit"],
    })
  })

  test("an allow names the first matching rule by id and lists all of them sorted", () => {
    const policy = policyOf(
      rule("z", "allow", "true"),
      rule("a", "allow", "context.verified.payload_bytes < 10"),
      rule("m", "allow", "context.verified.has_ai_output"),
    )
    expect(decided(policy, input)).toEqual({
      decision: "allow",
      decision_reason_code: "RULE_ALLOWED",
      fired_rule_id: "m",
      matched_rule_ids: ["m", "z"],
    })
  })

  test("a rule that requires an approval outweighs every allow rule and no deny rule, and says whose approval it requires", () => {
    const approval = { by: ["treasury", "finance"], count: 2, within_seconds: 3600 }
    const requiring = (id: string) => ({ id, effect: "require_approval", approval })
    const rules = [rule("a", "allow"), requiring("m"), requiring("b")]
    const needed = ["b", "m"].map(rule_id => ({ rule_id, ...approval }))
    const refused = {
      decision: "deny",
      decision_reason_code: "APPROVAL_REQUIRED",
      fired_rule_id: "b",
      matched_rule_ids: ["b", "m"],
      needed,
    }
    expect(decided(policyOf(...rules), input)).toEqual(refused)
    const asked = { ...requiring("b"), when: "context.verified.has_ai_output" }
    expect(decided(policyOf(rule("a", "allow"), requiring("m"), asked), input)).toEqual(refused)
    expect(decided(policyOf(...rules, rule("z", "deny", "context.verified.has_ai_output")), input)).toMatchObject({
      decision_reason_code: "RULE_DENIED",
      matched_rule_ids: ["z"],
    })
  })

  test("a rule that requires an approval allows with it, and denies as its request ended without it", () => {
    const approval = { by: ["treasury"], count: 1, within_seconds: 3600 }
    const rules = [rule("a", "allow"), { id: "m", effect: "require_approval", approval }]
    const needed = [{ rule_id: "m", ...approval }]
    const person = {
      decision: "approve",
      person: { subject: "anna" },
      groups: ["treasury"],
      proof: "key",
      key_name: "desk",
      decided_at: "2026-05-04T11:00:00.000Z",
    } as const
    const asked = {
      requested_at: "2026-05-04T10:30:00.000Z",
      admission_clock: "2026-05-04T11:15:00.000Z",
      has_end_user: true,
    }
    const given = (outcome: ApprovalOutcome, ...decisions: ApprovalDecision[]) =>
      evaluatePolicy(policyOf(...rules), input, undefined, { ...asked, outcome, decisions }).decision
    const matched = { fired_rule_id: "m", matched_rule_ids: ["m"], needed }
    const reason = { decision: "allow", decision_reason_code: "RULE_APPROVED" }
    expect(given("approved", person)).toEqual({ ...matched, ...reason })
    const required = { ...matched, decision: "deny", decision_reason_code: "APPROVAL_REQUIRED" }
    expect(given("approved")).toEqual(required)
    for (const other of [{ admission_clock: "2026-05-04T11:30:00.000Z" }, { has_end_user: false }])
      expect(
        evaluatePolicy(policyOf(...rules), input, undefined, {
          ...asked,
          ...other,
          outcome: "approved",
          decisions: [person],
        }).decision,
        "in the time of the rule, and with the end user that it requires",
      ).toEqual(required)
    for (const outcome of ["rejected", "expired", "unused", "withdrawn"] as const)
      expect(given(outcome, person)).toEqual({
        ...matched,
        decision: "deny",
        decision_reason_code: ENDED_REASONS[outcome],
      })
    const alone = evaluatePolicy(policyOf(rule("a", "allow")), input, undefined, {
      ...asked,
      outcome: "expired",
      decisions: [],
    })
    expect(alone.decision).toEqual({
      decision: "deny",
      decision_reason_code: "APPROVAL_EXPIRED",
      fired_rule_id: "a",
      matched_rule_ids: ["a"],
    })
    const denied = policyOf(...rules, rule("z", "deny"))
    const despite = evaluatePolicy(denied, input, undefined, { ...asked, outcome: "approved", decisions: [person] })
    expect(despite.decision).toMatchObject({ decision_reason_code: "RULE_DENIED", matched_rule_ids: ["z"] })
  })

  test("one deny rule outweighs every allow rule, and only deny rules are named", () => {
    const policy = policyOf(
      rule("a", "allow"),
      rule("y", "deny", "context.verified.has_ai_output"),
      rule("x", "deny", "true"),
    )
    expect(decided(policy, input)).toEqual({
      decision: "deny",
      decision_reason_code: "RULE_DENIED",
      fired_rule_id: "x",
      matched_rule_ids: ["x", "y"],
    })
  })

  test.each([
    ["no rule at all", policyOf()],
    ["no matching rule", policyOf(rule("a", "allow", "context.verified.payload_bytes < 10"))],
  ])("with %s the run is denied by default", (_, policy) => {
    expect(decided(policy, input)).toEqual({
      decision: "deny",
      decision_reason_code: "DEFAULT_DENY",
      fired_rule_id: "default-deny",
      matched_rule_ids: [],
    })
  })
})

describe("of more policies than the engine holds", () => {
  const routed = (n: number) => policyOf(rule(`r${n}`, "allow", `context.bound.route_id == "route ${n}"`))
  const policies = Array.from({ length: 40 }, (_, n) => routed(n))

  test("each decides by its own rules", () => {
    for (const [n, policy] of [...policies.entries(), ...policies.entries()])
      expect(decided(policy, { ...input, route_id: `route ${n}` }).matched_rule_ids).toEqual([`r${n}`])
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
      ...cedarRequest(input, undefined, policy.reads),
      preparsedPolicySetId: ruleSetOf(policy),
      entities: [],
    })
    expect(answer).toMatchObject({ response: { decision: "allow" } })
    expect(decided(policy, input)).toEqual(error("b"))
  })

  test("an allow rule that errors denies although another allows; the first by id is named", () => {
    expect(
      decided(policyOf(rule("a", "allow"), rule("z", "allow", OVERFLOW), rule("c", "allow", OVERFLOW)), input),
    ).toEqual(error("c"))
  })

  test("a request the engine cannot read denies and names no rule", () => {
    const policy = policyOf(rule("a", "allow", 'context.verified.payload_bytes > 0 || context.bound.route_id == "r"'))
    expect(decided(policy, { ...input, route_id: "\ud800" })).toEqual(error("policy-engine"))
    expect(decided(policy, { ...input, payload_bytes: 1.5 })).toEqual(error("policy-engine"))
  })

  test("it never throws and answers only its closed codes", () => {
    const policy = policyOf(
      rule("a", "allow", 'context.declared has human_in_loop_performed || context.bound.route_id like "*a*"'),
      rule(
        "b",
        "deny",
        'context.declared has attested && context.declared.attested has model_temperature && context.declared.attested.model_temperature.greaterThan(decimal("1.0"))',
      ),
    )
    fc.assert(
      fc.property(policyFacts, seen => {
        const decision = decided(policy, seen)
        expect(POLICY_REASON_CODES).toContain(decision.decision_reason_code)
        expect(decision.decision === "allow").toBe(decision.decision_reason_code === "RULE_ALLOWED")
      }),
    )
  })
})

describe("the context", () => {
  test("an absent fact is an absent attribute", () => {
    expect(allowedWhen("context.declared has attested")).toBe(false)
    expect(allowedWhen("context.declared has attested", attesting({}))).toBe(true)
    expect(allowedWhen("context.declared has attested && context.declared.attested has actor_id", attesting({}))).toBe(
      false,
    )
    expect(allowedWhen("context.declared has human_in_loop_performed")).toBe(false)
    expect(
      allowedWhen("context.declared has human_in_loop_performed && !context.declared.human_in_loop_performed", {
        ...input,
        declared: { authorization_chain: { human_in_loop: { performed: false } } },
      }),
    ).toBe(true)
  })

  test("carries the declared facts with their types", () => {
    expect(allowedWhen('principal == Tenant::"api-key-7" && context.verified.tenant_id == "api-key-7"')).toBe(true)
    expect(allowedWhen(`resource == Program::"${"a".repeat(64)}"`)).toBe(true)
    expect(
      allowedWhen('context.declared.data_labels.contains("pii") && context.declared.effect_kinds == ["email"]'),
    ).toBe(true)
    expect(allowedWhen('context.bound.route_id like "payments/*" && context.declared.approver_count == 1')).toBe(true)
    expect(allowedWhen("context.declared.tokens <= 1000 && context.verified.payload_bytes == 1200")).toBe(true)
    expect(
      allowedWhen("context.verified.payload_bytes == 9007199254740991", {
        ...input,
        payload_bytes: Number.MAX_SAFE_INTEGER,
      }),
    ).toBe(true)
  })

  test("a string that looks like an engine escape stays a string", () => {
    const seen = attesting({ actor_id: '{"__extn":{"fn":"decimal","arg":"1.0"}}' })
    expect(
      allowedWhen(
        'context.declared has attested && context.declared.attested has actor_id && context.declared.attested.actor_id like "{*"',
        seen,
      ),
    ).toBe(true)
  })

  test("every request it builds is valid against the schema that rules are validated against", () => {
    expect(preparseSchema("request", cedarSchema([])).type).toBe("success")
    const policy = policyOf(rule("a", "allow", READS_ALL))
    const preparsedPolicySetId = ruleSetOf(policy)
    fc.assert(
      fc.property(policyFacts, seen => {
        fc.pre(JSON.stringify(seen).isWellFormed() && !JSON.stringify(seen).includes("\\ud"))
        const known = { ...seen, payload_is_json: true }
        fc.pre(decided(policy, known).decision_reason_code !== "POLICY_EVALUATION_ERROR")
        const call = { ...cedarRequest(known, undefined, policy.reads), preparsedPolicySetId, entities: [] }
        const answer = statefulIsAuthorized({ ...call, preparsedSchemaName: "request", validateRequest: true })
        expect(answer).toMatchObject({ type: "success", response: { diagnostics: { errors: [] } } })
      }),
    )
  })

  test("names approvers once each, without the actor and those without a name", () => {
    const approvers = ["one", "two", "one", "me", "", "\u200b"].map(actor_id => ({ actor_id }))
    const seen = { ...input, declared: { attested_context: { actor_id: "me" }, authorization_chain: { approvers } } }
    expect(allowedWhen('context.declared.approver_ids == ["one", "two"]', seen)).toBe(true)
    expect(allowedWhen("context.declared.approver_count == 2", seen)).toBe(true)
  })

  test("has the terms of a permit, and the clock of the admission", () => {
    const seen = { ...input, terms: { audience: "bank", redeem_required: true, valid_for_seconds: 60 } }
    const when = 'context.bound has audience && context.bound.audience == "bank"'
    expect([allowedWhen(when, seen), allowedWhen(when)]).toEqual([true, false])
    const noon = 'context.verified.clock == datetime("2026-05-04T12:00:00Z")'
    expect(allowedWhen(noon)).toBe(true)
  })
})

describe("model_temperature", () => {
  const hot =
    'context.declared has attested && context.declared.attested has model_temperature && context.declared.attested.model_temperature.greaterThan(decimal("1.0"))'
  const withTemperature = (model_temperature: number): PolicyFacts => attesting({ model_temperature })

  test("is a decimal of at most four digits", () => {
    expect(allowedWhen(hot, withTemperature(1.0001))).toBe(true)
    expect(allowedWhen(hot, withTemperature(1))).toBe(false)
    expect(allowedWhen(hot, withTemperature(-0.7))).toBe(false)
  })

  test.each([1.00001, 1e21, 1e-7, 0.1 + 0.2])("%d, which no decimal expresses, denies when a rule reads it", value => {
    const policy = policyOf(rule("a", "allow"), rule("hot", "deny", hot))
    expect(decided(policy, withTemperature(value))).toMatchObject({
      decision: "deny",
      decision_reason_code: "POLICY_EVALUATION_ERROR",
      fired_rule_id: "hot",
    })
  })

  test("is no obstacle when no rule reads it", () => {
    expect(
      decided(policyOf(rule("a", "allow", "context.declared has attested")), withTemperature(1.00001)).decision,
    ).toBe("allow")
  })

  test.each(["context.declared.attested has model_temperature", "context.declared has attested.model_temperature"])(
    "%s counts as reading it",
    expression => {
      expect(policyOf(rule("a", "allow", `context.declared has attested && ${expression}`)).reads).toContain(
        "declared.attested.model_temperature",
      )
    },
  )
})

describe("a policy without conditions", () => {
  test("decides without the engine exactly as the engine does", () => {
    const effects = fc.array(fc.constantFrom("allow" as const, "deny" as const), { maxLength: 5 })
    fc.assert(
      fc.property(effects, chosen => {
        const fixed = policyOf(...chosen.map((effect, i) => rule(`r${i}`, effect)))
        const evaluated = policyOf(...chosen.map((effect, i) => rule(`r${i}`, effect, "true")))
        expect(chosen.length > 0 && evaluated.fixed_decision !== undefined).toBe(false)
        expect(fixed.fixed_decision).toEqual(decided(evaluated, input))
      }),
    )
  })
})
