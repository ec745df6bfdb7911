import type { JsonObject } from "@runseal/canonical"
import { canonicalize, digest, parseStrictJson, sha256Hex } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { DECLARED_NAMES, withhold } from "../src/artifacts/declared-sections.ts"
import type { EfaSection } from "../src/artifacts/derived-sections.ts"
import { countFindings, countValues } from "../src/derivation/v2/kernel.ts"
import { runKernels, unrepeatableKernels } from "../src/derivation/v2/run-kernels.ts"
import { rfc3339Millis } from "../src/derivation/v2/tok.ts"
import type { FindingCode } from "../src/vocabulary/kernel-findings.ts"
import { FINDING_CODES } from "../src/vocabulary/kernel-findings.ts"
import { KERNELS } from "../src/vocabulary/outcomes.ts"
import type { Declared, Plan } from "./fixtures/declared-plan.ts"
import { makeDeployment } from "./fixtures/deployment.ts"
import { draftRecord } from "./fixtures/resealed-draft.ts"
import { planRun } from "./fixtures/run-spec.ts"
import { AI_OUTPUT, FULL_DECLARED } from "./fixtures/samples.ts"

/** A run admitted at 12:00:00.000 on 15 January 2026. */
function planOf(declared: Declared, ai_output?: string | undefined, payload?: string): Plan {
  const deployment = makeDeployment()
  const tenant = {
    tenant_id: "api-key-1",
    tenant_salt: "0".repeat(64),
    ordinal: 0,
    previous: "",
    open: new Set<string>(),
    spent: new Map(),
  }
  const plan = planRun(deployment, tenant, { outcome: "ok", at: "2026-01-15T12:00:00.000Z", declared })
  return { ...plan, ai_output, payload: payload ?? plan.payload }
}
function kernelsOf(plan: Plan): EfaSection["kernels"] {
  const { efa } = draftRecord(plan).sections
  if (efa === undefined) throw new Error("a completed run has kernels")
  return efa.kernels
}
/** `<kernel> <code> ×<count>` of every finding. */
const findings = (...example: Example): readonly string[] =>
  kernelsOf(planOf(...example)).flatMap(record =>
    record.findings.map(({ code, count }) => `${record.kernel} ${code} ×${count}`),
  )

const effects = (...times: readonly string[]): Declared => ({
  causal_graph: { effect_log: times.map(issued_at => ({ issued_at })) },
})
const approvals = (...approvers: readonly JsonObject[]): Declared => ({ authorization_chain: { approvers } })
const named = (...ids: readonly string[]): readonly JsonObject[] => ids.map(actor_id => ({ actor_id }))
const cost = (input_tokens: number, output_tokens: number, total_tokens: number): Declared => ({
  request_substance: { cost: { input_tokens, output_tokens, total_tokens } },
})
const prompts = (declared: string, attested: string): Declared => ({
  request_substance: { prompt: { hash: declared } },
  attested_context: { prompt_hash: attested },
})
const output = (hash: string): Declared => ({ request_substance: { output: { hash } } })
const [A, B] = ["a".repeat(64), "b".repeat(64)]

type Example = readonly [declared: Declared, ai_output?: string | undefined, payload?: string]
/** An example that a code is for, and one next to it that it is not for. */
const EXAMPLES: Readonly<Record<FindingCode, readonly [finding: string, with_it: Example, without: Example]>> = {
  TIMESTAMP_UNPARSABLE: ["TOK", [effects("yesterday", "2026-01-15")], [effects("2026-01-15T11:00:00Z")]],
  TIMESTAMP_OUT_OF_ORDER: [
    "TOK",
    [effects("2026-01-15T11:00:00Z", "2026-01-15T10:59:59.999Z", "2026-01-15T10:59:59Z")],
    [effects("2026-01-15T11:00:00Z", "2026-01-15T12:00:00+01:00", "2026-01-15T11:00:00.001Z")],
  ],
  TIMESTAMP_AFTER_ADMISSION: [
    "TOK",
    [effects("2026-01-15T12:00:00.001Z", "2026-01-15T12:00:00-00:01")],
    [effects("2026-01-15T12:00:00.000Z", "2026-01-15T12:00:00.0009Z")],
  ],
  APPROVERS_OUT_OF_SEQUENCE: [
    "TOK",
    [
      approvals(
        { actor_id: "a", order: 2, approved_at: "2026-01-15T10:00:00Z" },
        { actor_id: "b", order: 3, approved_at: "2026-01-15T09:00:00Z" },
        { actor_id: "c", order: 1, approved_at: "2026-01-15T11:00:00Z" },
      ),
    ],
    [
      approvals(
        { actor_id: "a", order: 2, approved_at: "2026-01-15T11:00:00Z" },
        { actor_id: "b", order: 1, approved_at: "2026-01-15T10:00:00Z" },
      ),
    ],
  ],
  APPROVER_REPEATED: ["TOK", [approvals(...named("a", "b", "a", "a"))], [approvals(...named("a", "b", "A"))]],
  APPROVER_UNNAMED: ["TOK", [approvals({ comment: "ok" }, ...named("\u200b"))], [approvals(...named("\u200ba"))]],
  APPROVER_IS_ACTOR: [
    "TOK",
    [{ ...approvals(...named("me", "a", "me")), attested_context: { actor_id: "me" } }],
    [{ ...approvals(...named("a")), attested_context: { actor_id: "me" } }],
  ],
  ACTOR_SIGNATURE_NOT_VERIFIED: [
    "NREP",
    [{ attested_context: { actor_signature: "eA==" } }],
    [{ attested_context: {} }],
  ],
  PROMPT_HASH_MISMATCH: ["AIVP", [prompts(A, B)], [prompts(A, A)]],
  AI_OUTPUT_HASH_MISMATCH: ["AIVP", [output(A), AI_OUTPUT], [output(sha256Hex(AI_OUTPUT)), AI_OUTPUT]],
  AI_OUTPUT_HASH_UNCHECKED: ["AIVP", [output(A)], [{ request_substance: {} }]],
  PAYLOAD_EMPTY: ["DSE", [{}, undefined, ""], [{}, undefined, " "]],
  COST_WITHOUT_TOTAL: [
    "DCAE",
    [{ request_substance: { cost: { total_token: 99_999_999 } } }],
    [{ request_substance: {} }],
  ],
  COST_PARTS_EXCEED_TOTAL: [
    "DCAE",
    [{ request_substance: { cost: { input_tokens: 2, total_tokens: 1 } } }],
    [{ request_substance: { cost: { input_tokens: 1, total_tokens: 1 } } }],
  ],
  COST_DOES_NOT_ADD_UP: ["DCAE", [cost(1, 2, 4)], [cost(1, 2, 3)]],
}

describe("a kernel's finding", () => {
  test.each(FINDING_CODES)("%s is made by what it is for, and by nothing next to it", code => {
    const [kernel, withIt, without] = EXAMPLES[code]
    const count = code.startsWith("TIMESTAMP") || code.startsWith("APPROVER") ? 2 : 1
    expect(findings(...withIt)).toEqual([`${kernel} ${code} ×${count}`])
    expect(findings(...without)).toEqual([])
  })

  test("never comes from what was not declared", () => {
    expect(findings({})).toEqual([])
    expect(findings({}, AI_OUTPUT)).toEqual([])
  })

  test("never comes from declared content of another shape than docs/api.md shows", () => {
    const odd: Declared = {
      causal_graph: { effect_log: "none", parent_run_id: [] },
      authorization_chain: { approvers: { "0": { order: 1 } } },
      request_substance: { cost: [1, 2], prompt: "p", output: { hash: 1 } },
      attested_context: { prompt_hash: 7 },
    }
    expect(findings(odd, AI_OUTPUT)).toEqual([])
  })

  test("counts approvers that are no objects as unnamed", () => {
    const authorization_chain = { approvers: [1, null, [], { actor_id: "a", order: "first" }] }
    expect(findings({ authorization_chain })).toEqual(["TOK APPROVER_UNNAMED ×3"])
  })

  test("is not made of inherited members", () => {
    const inherited: Declared = { request_substance: JSON.parse('{"__proto__":{"output":{"hash":"x"}}}') }
    expect(findings(inherited, AI_OUTPUT)).toEqual([])
  })

  test("counts each kind once, in the vocabulary's order", () => {
    expect(countFindings(["COST_DOES_NOT_ADD_UP", "TIMESTAMP_UNPARSABLE", "COST_DOES_NOT_ADD_UP"])).toEqual([
      { code: "TIMESTAMP_UNPARSABLE", count: 1 },
      { code: "COST_DOES_NOT_ADD_UP", count: 2 },
    ])
  })

  test("of costs is exact beyond what floating point adds", () => {
    const { MAX_SAFE_INTEGER } = Number
    expect(findings(cost(MAX_SAFE_INTEGER, 2, MAX_SAFE_INTEGER))).toEqual(["DCAE COST_PARTS_EXCEED_TOTAL ×1"])
    expect(findings({ request_substance: { cost: { input_tokens: 1.5, output_tokens: 1, total_tokens: 9 } } })).toEqual(
      [],
    )
  })
})

describe("a declared time", () => {
  test.each([
    ["2026-01-15T11:00:00Z", "2026-01-15T11:00:00.000Z"],
    ["2026-01-15t11:00:00z", "2026-01-15T11:00:00.000Z"],
    ["2026-01-15T11:00:00.5Z", "2026-01-15T11:00:00.500Z"],
    ["2026-01-15T11:00:00.000999999Z", "2026-01-15T11:00:00.000Z"],
    ["2026-01-15T11:00:00.123456789012Z", "2026-01-15T11:00:00.123Z"],
    ["2026-01-15T11:00:00.9999Z", "2026-01-15T11:00:00.999Z"],
    ["2026-01-15T11:00:00+05:30", "2026-01-15T05:30:00.000Z"],
    ["2026-01-15T00:00:00-00:01", "2026-01-15T00:01:00.000Z"],
    ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ])("%s is the instant %s", (text, instant) => {
    expect(rfc3339Millis(text)).toBe(Date.parse(instant))
  })

  test.each([
    "",
    "now",
    "2026-01-15",
    "2026-01-15T11:00Z",
    "2026-01-15T11:00:00",
    "2026-01-15 11:00:00Z",
    "2026-01-15T24:00:00Z",
    "2026-01-15T11:60:00Z",
    "2026-01-15T11:00:61Z",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-15T11:00:00.Z",
    "2026-01-15T11:00:00.0000000000000Z",
    "2026-01-15T11:00:00+24:00",
    "2026-01-15T11:00:00+0100",
    "+02026-01-15T11:00:00Z",
    " 2026-01-15T11:00:00Z",
    "2026-01-15T11:00:00Z\n",
    "２026-01-15T11:00:00Z",
  ])("%j is none", text => {
    expect(rfc3339Millis(text)).toBeUndefined()
  })

  test("written by Date is read back", () => {
    const date = fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
    fc.assert(
      fc.property(date, it => {
        expect(rfc3339Millis(it.toISOString())).toBe(it.getTime())
      }),
    )
  })

  test("is any text under a key that ends in _at, wherever it stands", () => {
    const declared: Declared = {
      regulatory_scaffolding: { deep: [{ "a/b~_at": ["2026-01-15T10:00:00Z", "?"] }], at: "?", _at_: "?" },
      reproducibility_context: { built_at: "2026-01-15T09:00:00Z", frozen_at: 12 },
    }
    const tok = kernelsOf(planOf(declared)).find(({ kernel }) => kernel === "TOK")!
    expect(tok.output.timestamp_count).toBe(3)
    const salts = DECLARED_NAMES.map(name => {
      const section = draftRecord(planOf(declared)).sections[name]
      return "salt" in section ? section.salt : ""
    })
    const events = [
      { at: "2026-01-15T09:00:00Z", pointer: "/reproducibility_context/built_at" },
      { at: "2026-01-15T10:00:00Z", pointer: "/regulatory_scaffolding/deep/0/a~1b~0_at/0" },
      { at: "?", pointer: "/regulatory_scaffolding/deep/0/a~1b~0_at/1" },
    ]
    expect(tok.output.ordering_hash).toBe(digest({ kind: "vfa.tok_ordering.v1", salts, events }))
  })
})

test("a declared time's pointer beyond 256 units stands as its SHA-256, level by level", () => {
  const [short, long] = ["k".repeat(256 - "/causal_graph//_at".length), "k".repeat(300)]
  const declared: Declared = { causal_graph: { [short]: { _at: "b" }, [long]: { _at: ["a"] } } }
  const { sections } = draftRecord(planOf(declared))
  const salts = DECLARED_NAMES.map(name => {
    const section = sections[name]
    return "salt" in section ? section.salt : ""
  })
  const events = [
    { at: "a", pointer: `#${sha256Hex(`/causal_graph/${long}`)}/_at/0` },
    { at: "b", pointer: `/causal_graph/${short}/_at` },
  ]
  const tok = kernelsOf(planOf(declared)).find(({ kernel }) => kernel === "TOK")!
  expect(tok.output.ordering_hash).toBe(digest({ kind: "vfa.tok_ordering.v1", salts, events }))
})

describe("the six kernels", () => {
  const plan = planOf(FULL_DECLARED, AI_OUTPUT)
  const { sections } = draftRecord(plan)
  const sources = { ...sections, envelope: sections.envelope! }

  test("run in their order, and again with the same result", () => {
    expect(kernelsOf(plan).map(({ kernel }) => kernel)).toEqual(KERNELS)
    expect(runKernels(sources)).toEqual(kernelsOf(plan))
  })

  test("do not depend on the order in which an object's members arrive", () => {
    const key = fc.constantFrom("a_at", "b_at", "effect_log", "approvers", "order", "approved_at", "issued_at", "cost")
    const value = fc.oneof(fc.constantFrom("2026-01-15T10:00:00Z", "2026-01-15T11:00:00Z", "x"), fc.integer())
    const content = fc.dictionary(key, fc.oneof(value, fc.array(fc.dictionary(key, value), { maxLength: 4 })))
    const declared = fc.record({ causal_graph: content, authorization_chain: content, request_substance: content })
    fc.assert(
      fc.property(declared, received => {
        const sorted: Declared = JSON.parse(canonicalize(received))
        const reversed: Declared = JSON.parse(JSON.stringify(parseStrictJson(canonicalize(received)), reverseMembers))
        const asReceived = kernelsOf(planOf(received))
        expect(kernelsOf(planOf(sorted))).toEqual(asReceived)
        expect(kernelsOf(planOf(reversed))).toEqual(asReceived)
      }),
      { numRuns: 50 },
    )
  })

  test.each([
    ["attested_context", ["TOK", "NREP", "AIVP"]],
    ["request_substance", ["TOK", "NREP", "AIVP", "DCAE"]],
    ["authorization_chain", ["TOK"]],
    ["regulatory_scaffolding", ["TOK"]],
    ["causal_graph", ["TOK", "DSC"]],
    ["reproducibility_context", ["TOK"]],
  ] as const)("with %s withheld, %j cannot be run again and stand as they are stated", (name, kernels) => {
    const shown = { ...sources, [name]: withhold(sources[name]) }
    expect(unrepeatableKernels(shown)).toEqual(kernels)
    const results = Object.fromEntries(kernelsOf(plan).map(record => [record.kernel, record]))
    expect(runKernels(shown, results)).toEqual(kernelsOf(plan))
    expect(runKernels(shown)).toBeUndefined()
  })

  test("count the scalars of declared content", () => {
    expect(countValues(undefined)).toBe(0)
    expect(countValues({ a: [1, "2", null, [], {}], b: { c: true } })).toBe(4)
  })
})

/** A replacer that writes every object with its members in reverse. */
const reverseMembers = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).reverse())
    : value
