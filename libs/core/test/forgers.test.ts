import { describe, expect, test } from "vitest"
import { seededHex } from "../../log/test/seeded-keys.ts"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import type { DeclaredName } from "../src/artifacts/declared-sections.ts"
import { DECLARED_NAMES } from "../src/artifacts/declared-sections.ts"
import { reduce } from "../src/derivation/derive.ts"
import { bundleHash } from "../src/formulas/manifest-sections.ts"
import { type CheckId, type Report, VERDICTS } from "../src/verify/report.ts"
import type { Plan } from "./fixtures/declared-plan.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { forge } from "./fixtures/forge.ts"
import { withValue } from "./fixtures/json-values.ts"
import { reportOn } from "./fixtures/judged.ts"
import type { Alterations } from "./fixtures/resealed-part.ts"
import { RUN_SAMPLES } from "./fixtures/sample-corpus.ts"
import { ALLOWED, costing, HALTED, otherCaller, otherReview, RELEASED } from "./fixtures/samples.ts"

const a = makeDeployment()

const verified = (bundle: Bundle): Report => reportOn(reduce(bundle), [a.trust])
const failed = (report: Report): readonly CheckId[] =>
  report.checks.filter(check => check.result === "fail").map(check => check.id)

/** Checks that only the owner of a key can pass with another record. */
const KEYED: readonly CheckId[] = ["leaf", "entry", "complete_record"]

type Forgery = { readonly fact: string; readonly change: (plan: Plan) => Plan }
const forgery = (fact: string, change: Forgery["change"]): Forgery => ({ fact, change })
const hash = (label: string): string => seededHex("a forger", label)

const declaring = (name: DeclaredName): Forgery =>
  forgery(`what ${name} declares`, plan => ({
    ...plan,
    declared: { ...plan.declared, [name]: { ...plan.declared[name], note: "forged" } },
  }))

/** One token more than the caller declared, in the budget and everywhere else. */
const recosted = (plan: Plan): Plan["declared"] =>
  costing(plan.outcome === "ccv_halt" ? 1_000_002 : 1241, plan.declared)

/** Facts of a run, each changed to another that is just as possible. */
const FORGERIES: readonly Forgery[] = [
  forgery("the payload", plan => ({ ...plan, payload: "Claim 4711: nothing happened." })),
  forgery("the AI output", plan => ({
    ...plan,
    ai_output: "Reject the claim.",
    review: plan.ai_output === undefined ? RELEASED : plan.review,
  })),
  forgery("the tenant", otherCaller),
  forgery("the clock", plan => ({ ...plan, moment: { ...plan.moment, at: plan.moment.at.replace("250Z", "251Z") } })),
  forgery("the nonce", plan => ({ ...plan, moment: { ...plan.moment, nonce: hash("nonce") } })),
  forgery("the program", plan => ({ ...plan, program_id: hash("program") })),
  forgery("the route", plan => ({ ...plan, route_id: "claims/other" })),
  forgery("the registry record", plan => ({ ...plan, registry_record_hash: hash("record") })),
  forgery("the region", plan => ({ ...plan, execution_region: "elsewhere" })),
  forgery("the caller's address", plan => ({ ...plan, origin: { ...plan.origin, source_ip_hash: hash("address") } })),
  ...DECLARED_NAMES.map(declaring),
  forgery("the policy", plan => ({ ...plan, policy: { ...plan.policy, policy_hash: hash("policy") } })),
  forgery("the rules that matched", plan =>
    plan.match === undefined
      ? { ...plan, decision: { ...plan.decision, fired_rule_id: "other", matched_rule_ids: ["other"] } }
      : plan,
  ),
  forgery("the tokens", plan => ({ ...plan, declared: recosted(plan) })),
  forgery("the budget of a run", plan => ({ ...plan, run_limit: plan.run_limit - 1 })),
  forgery("the tenant's spending", plan => ({
    ...plan,
    window: { ...plan.window, total_before: 12, ordinal_before: 3 },
  })),
  forgery("the review", plan => ({ ...plan, review: otherReview(plan.review) })),
]

/** Facts of a run that are in none of its sections. */
const RUN_FORGERIES: readonly Forgery[] = [
  forgery("the run number", plan => ({ ...plan, run_id: plan.run_id + 1000 })),
  forgery("the duration", plan => ({ ...plan, duration_us: 1 })),
  forgery("the tenant's salt", plan => ({ ...plan, tenant: { ...plan.tenant, tenant_salt: hash("salt") } })),
]

const anchored = RUN_SAMPLES.filter(([, verdict]) => verdict !== VERDICTS.unanchored).map(([name, , spec]) => ({
  name,
  spec,
  original: sealRun(a, spec),
}))

/** The forgeries of facts that a run holds. */
const held = (runs: typeof anchored, forgeries: readonly Forgery[]) =>
  runs.flatMap(({ name, original }) =>
    forgeries
      .filter(({ change }) => forge(original, change).bundle_hash !== original.bundle.bundle_hash)
      .map(({ fact, change }) => ({ name, original, fact, change })),
  )

describe("a forger without keys who seals every hash anew is stopped at the leaf or its entry", () => {
  const complete = anchored.filter(({ spec }) => spec.complete_record !== false)
  test.each([...held(anchored, FORGERIES), ...held(complete, RUN_FORGERIES)])(
    "when he changes $fact of $name",
    ({ original, change }) => {
      const report = verified(forge(original, change))
      expect(report.verdict).toBe(VERDICTS.failed)
      // All his hashes are right: nothing but a signature stops him.
      expect(failed(report).filter(id => !KEYED.includes(id))).toEqual([])
    },
  )

  test("every fact is tried on a completed run", () => {
    const [full] = anchored
    expect(held([full!], [...FORGERIES, ...RUN_FORGERIES])).toHaveLength(FORGERIES.length + RUN_FORGERIES.length)
  })

  test("a leaf v5 without complete record binds no text either, and a completed run has none", () => {
    for (const { original } of anchored.filter(({ spec }) => spec.complete_record === false)) {
      const { bundle } = original
      const changed = { ...bundle, run: { ...bundle.run, error_message: "The policy gate let this run pass." } }
      const report = verified({ ...changed, bundle_hash: bundleHash(reduce(changed)) })
      expect(report).toMatchObject({ verdict: VERDICTS.failed, first_failure: "shape" })
    }
  })

  test("a leaf v5 without complete record binds no run number, duration or salt, and the verdict says so", () => {
    const old = anchored.filter(({ spec }) => spec.complete_record === false)
    for (const { original, change } of held(old, RUN_FORGERIES)) {
      const report = verified(forge(original, change))
      expect(report.verdict).toBe(VERDICTS.anchored)
      expect(report.limitations.map(({ code }) => code)).toContain("run_facts_not_bound")
    }
    expect(old).not.toEqual([])
  })
})

describe("a forger without keys cannot turn an outcome into another", () => {
  const ok = sealRun(a, { outcome: "ok" })
  const denied = sealRun(a, { outcome: "pepg_deny" })
  const halted = sealRun(a, { outcome: "aivp_t4_halt" })
  const passing = (plan: Plan): Plan => ({
    ...plan,
    outcome: "ok",
    decision: ALLOWED,
    match: undefined,
    review: RELEASED,
  })

  test.each([
    [
      "a denied run into a completed one, under the entries of a completed one",
      { ...denied, bundle: ok.bundle },
      passing,
    ],
    [
      "a halted run into a completed one, under the entries of a completed one",
      { ...halted, bundle: ok.bundle },
      passing,
    ],
    [
      "a completed run into a halted one, under its own entries",
      ok,
      (plan: Plan): Plan => ({ ...plan, outcome: "aivp_t4_halt", review: HALTED }),
    ],
    [
      "a denied run into a stage error, under its own entries",
      denied,
      (plan: Plan): Plan => ({ ...plan, outcome: "stage_error", failed_step: "DTL" }),
    ],
  ])("%s", (_, original, change) => {
    expect(verified(forge(original, change)).verdict).toBe(VERDICTS.failed)
  })
})

describe("a forger without keys cannot alter what the service computed", () => {
  const run = sealRun(a, { outcome: "ok" })
  /** The leaf follows from what is decided, and is then another than the logged one. */
  const KEYED_DECISION: readonly CheckId[] = ["decision", "leaf", "entry"]
  const alterations: readonly (readonly [name: string, checks: readonly CheckId[], alterations: Alterations])[] = [
    ["a kernel's finding", ["sections", "manifest"], { efa: part => withValue(part, "/kernels/3/findings", []) }],
    [
      "a kernel's output",
      ["sections", "manifest"],
      { efa: part => withValue(part, "/kernels/1/output/timestamp_count", 0) },
    ],
    [
      "an event of the transcript",
      ["manifest", "transcript"],
      { transcript: part => withValue(part, "/events/7/hash", hash("x")) },
    ],
    ["the charge", KEYED_DECISION, { budget_snapshot: part => withValue(part, "/window/tokens", 1) }],
    [
      "the review's output",
      KEYED_DECISION,
      { governance_review: part => withValue(part, "/ai_output_hash", hash("x")) },
    ],
    ["the allow token", KEYED_DECISION, { allow_token: part => withValue(part, "/fired_rule_id", "other") }],
  ]
  test.each(alterations)("%s: %s fail", (_, checks, changes) => {
    expect(failed(verified(forge(run, plan => plan, changes)))).toEqual([...checks, "complete_record"])
  })
})

describe("a record that needs no anchor is never called anchored", () => {
  const unanchored = RUN_SAMPLES.filter(([, verdict]) => verdict === VERDICTS.unanchored)
  test.each(unanchored)("%s: whatever is changed and sealed anew, it is self-consistent only", (_, verdict, spec) => {
    const original = sealRun(a, spec)
    for (const { change } of [...FORGERIES, ...RUN_FORGERIES])
      expect(verified(forge(original, change)).verdict).toBe(verdict)
  })

  // A receipt binds neither tenant nor declared content: with its entry alone a whole record could be written around it.
  const shedding = held(
    anchored.filter(({ spec }) => spec.receipt_anchor === "vfa.receipt_anchor.v1"),
    [...FORGERIES, ...RUN_FORGERIES],
  )
  test.each(shedding)("shedding the complete-record anchor of $name to change $fact fails", ({ original, change }) => {
    const { complete_record: _, ...anchors } = original.bundle.anchors
    const shed = { ...original, bundle: { ...original.bundle, anchors } }
    expect(failed(verified(forge(shed, change)))).toContain("complete_record")
  })
})
