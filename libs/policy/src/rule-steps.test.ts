/** How long rules may take: docs/policy-and-review.md, "The policy document", and decision 0240. */
import { generateKeyPairSync, sign, verify } from "node:crypto"
import type { JsonValue } from "@runseal/canonical"
import type { PolicyFacts } from "@runseal/core/formulas/policy-context"
import { describe, expect, test } from "vitest"
import { evaluatePolicy } from "./decide.ts"
import { type CompiledPolicy, loadPolicy } from "./load-policy.ts"

const policy = (...conditions: readonly string[]): JsonValue => ({
  policy_id: "p",
  policy_name: "P",
  required_attested_fields: [],
  rules: [
    { id: "allow", effect: "allow" },
    ...conditions.map((when, i) => ({ id: `rule-${i}`, effect: "deny", when })),
  ],
})

/** A condition of so many parts. */
const parts = (part: string, count: number): string => Array.from({ length: count }, () => part).join(" || ")
const NOTE = "context.declared has attested && context.declared.attested has decision_note && "
const listOf = (count: number): string => `[${Array.from({ length: count }, (_, i) => `"c${i}"`).join(", ")}]`

const HEAVY: readonly (readonly [what: string, document: JsonValue])[] = [
  ["long lists", policy(...Array.from({ length: 64 }, () => `${listOf(400)}.contains(context.bound.route_id)`))],
  ["long chains", policy(...Array.from({ length: 64 }, () => parts("context.verified.payload_bytes < 0", 100)))],
  ["decimals", policy(...Array.from({ length: 32 }, () => parts('decimal("1.5") == decimal("1.6")', 90)))],
  [
    "patterns over a caller's text",
    policy(`${NOTE}(${parts('context.declared.attested.decision_note like "*n*n*b"', 60)})`),
  ],
  [
    "comparisons of the caller's sets",
    policy(parts("context.declared.data_labels.containsAll(context.declared.effect_kinds)", 60)),
  ],
]

describe("rules that every run would wait for", () => {
  test.each(HEAVY)("are refused, with a rule and its cost: %s", (_what, document) => {
    expect(() => loadPolicy(document)).toThrow(
      /^The rules take \d+ steps together for each run, and at most 4096 are allowed: shorten them, first rule "rule-0" with \d+\.$/,
    )
  })

  test("are judged by the largest: that one is named", () => {
    const [small, large] = [
      parts("context.verified.payload_bytes < 0", 30),
      `${listOf(450)}.contains(context.bound.route_id)`,
    ]
    const document = policy(...Array.from({ length: 18 }, () => small), large)
    expect(() => loadPolicy(document)).toThrow('first rule "rule-18" with')
  })

  test("are refused whatever the length of what the engine would validate", () => {
    const since = performance.now()
    expect(() =>
      loadPolicy(policy(...Array.from({ length: 200 }, () => `${listOf(400)}.contains(context.bound.route_id)`))),
    ).toThrow("steps")
    expect(performance.now() - since).toBeLessThan(30_000)
  })
})

describe("rules that people write", () => {
  test.each<readonly [what: string, ...conditions: string[]]>([
    [
      "256 rules with a comparison each",
      ...Array.from({ length: 255 }, (_, i) => `context.bound.route_id == "route-${i}"`),
    ],
    ["a list of 450 customers", `${listOf(450)}.contains(context.verified.tenant_id)`],
    ["28 patterns over notes", `${NOTE}(${parts('context.declared.attested.decision_note like "*refund*"', 28)})`],
    ["100 patterns over routes", parts('context.bound.route_id like "internal/*"', 100)],
  ])("are taken: %s", (_what, ...conditions) => {
    expect(loadPolicy(policy(...conditions)).policy_id).toBe("p")
  })
})

const INPUT: PolicyFacts = {
  program_id: "a1".repeat(32),
  route_id: "example",
  registry_record_hash: "b2".repeat(32),
  tenant_id: "api-key-1",
  execution_region: "local",
  admission_clock: "2026-05-04T12:00:00.000Z",
  payload_bytes: 7,
  tokens: 0,
  has_ai_output: false,
  declared: {
    attested_context: { actor_id: "a".repeat(100), decision_note: "n".repeat(1000) },
    regulatory_scaffolding: { data_classification: { gdpr: Array.from({ length: 10 }, (_, i) => `label-${i}`) } },
    causal_graph: { effect_log: Array.from({ length: 10 }, (_, i) => ({ effect_kind: `effect-${i}` })) },
  },
}

/** The quickest of some times of a piece of work, in milliseconds: the machine does other things too. */
function quickest(work: () => unknown): number {
  const times = Array.from({ length: 20 }, () => {
    const since = performance.now()
    work()
    return performance.now() - since
  })
  return Math.min(...times)
}

describe("a policy at the bound", () => {
  /** In verifications of a P-256 signature. Five times what the slowest takes on a machine without other work, so that a busy one fails nothing. */
  const VERIFICATIONS_MAX = 100

  /** As many rules of one condition as the bound allows. */
  function fullOf(condition: string): CompiledPolicy {
    let compiled = loadPolicy(policy(condition))
    for (let count = 2; count < 256; count++) {
      try {
        compiled = loadPolicy(policy(...Array.from({ length: count }, () => condition)))
      } catch {
        return compiled
      }
    }
    return compiled
  }

  test.each([
    [
      "numbers in a list",
      `[${Array.from({ length: 500 }, (_, i) => i).join(",")}].contains(context.verified.payload_bytes + 1000)`,
    ],
    ["texts in a list", `${listOf(400)}.contains(context.bound.route_id)`],
    ["comparisons", parts("context.verified.payload_bytes < 0", 100)],
    ["decimals", parts('decimal("1.5") == decimal("1.6")', 90)],
    ["labels", parts("context.declared.data_labels.contains(context.bound.route_id)", 60)],
    ["patterns over routes", parts('context.bound.route_id like "*x*y*"', 90)],
    ["patterns over a note", `${NOTE}(${parts('context.declared.attested.decision_note like "*n*n*b"', 8)})`],
    ["both sets", parts("context.declared.data_labels.containsAll(context.declared.effect_kinds)", 8)],
  ])(`takes no longer than ${VERIFICATIONS_MAX} verifications of a signature: %s`, (_what, condition) => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const message = Buffer.alloc(32)
    const signature = sign("sha256", message, privateKey)
    const unit = quickest(() => verify("sha256", message, publicKey, signature))
    const full = fullOf(condition)
    expect(quickest(() => evaluatePolicy(full, INPUT)) / unit).toBeLessThan(VERIFICATIONS_MAX)
  })
})
