import { sha256Hex } from "@runseal/canonical"
import { describe, expect, test } from "vitest"
import { seededHex } from "../../log/test/seeded-keys.ts"
import { reduce } from "../src/derivation/derive.ts"
import { isUnreadable, verifyDocument, verifyText } from "../src/verify/document.ts"
import { VERDICTS } from "../src/verify/report.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import type { Json } from "./fixtures/json-values.ts"
import { isMembers } from "./fixtures/json-values.ts"
import type { SealedParts } from "./fixtures/resealed-part.ts"
import type { RunSpec } from "./fixtures/run-spec.ts"
import { ALLOWED, FULL_DECLARED, HALTED, RELEASED, SIGNATURE_MATCH } from "./fixtures/samples.ts"

// The operator holds every key and rebuilds the whole record around a value, with right hashes and signatures. What remains is
// what the values say of each other.

/** The first check that fails, `unreadable`, or the verdict of a record that verifies. */
function judged(spec: RunSpec): string {
  const deployment = makeDeployment()
  const report = verifyText(JSON.stringify(reduce(sealRun(deployment, spec).bundle)), [deployment.trust])
  return isUnreadable(report) ? "unreadable" : (report.first_failure ?? report.verdict)
}
/** What a record is judged as in which one part has other values; undefined takes a member away. */
function changed(spec: RunSpec, name: keyof SealedParts, values: Readonly<Record<string, Json | undefined>>): string {
  const alter = (part: Json): Json => {
    if (!isMembers(part)) return part
    const members = { ...part, ...values }
    return Object.fromEntries(
      Object.entries(members).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    )
  }
  try {
    return judged({ ...spec, alter: { [name]: alter } })
  } catch (error) {
    // The schema of the part refuses it: so does that of the record.
    if (error instanceof Error && error.message.endsWith("is changed into something else")) return "unreadable"
    throw error
  }
}

const OK: RunSpec = { outcome: "ok" }
const DENIED: RunSpec = { outcome: "pepg_deny", denied_by: "rule" }
const MATCHED: RunSpec = { outcome: "pepg_deny" }
const NOTHING = sha256Hex("")

describe("what nobody was asked", () => {
  const BUILTIN = {
    adapter_id: "builtin-rules",
    decision_kind: "halt",
    decision_reason: "PRIVATE_KEY_EXPOSED",
  } as const
  const FOUND = { ...BUILTIN, rule_ids: ["private-key"], finding_count: 1 }

  test("the built-in rules find nothing in an empty text", () => {
    expect(judged({ outcome: "aivp_t4_halt", ai_output: "", review: FOUND })).toBe("decision")
    expect(judged({ outcome: "aivp_t4_halt", ai_output: "x", review: FOUND })).toBe(VERDICTS.complete)
    // A model may answer anything to it.
    expect(judged({ outcome: "aivp_t4_halt", ai_output: "", review: HALTED })).toBe(VERDICTS.complete)
    const deployment = makeDeployment()
    const { receipt } = sealRun(deployment, { outcome: "aivp_t4_halt", ai_output: "", review: FOUND })
    expect(verifyDocument(receipt, [deployment.trust])).toMatchObject({ verdict: "FAILED", first_failure: "decision" })
  })

  test("no review fails without AI output", () => {
    expect(judged({ outcome: "stage_error", failed_step: "AIVP_T4", minimal: true })).toBe("decision")
    expect(judged({ outcome: "stage_error", failed_step: "AIVP_T4" })).toBe(VERDICTS.complete)
  })

  test("the admission gate refuses no run that lacks nothing", () => {
    const refused: RunSpec = { outcome: "stage_error", failed_step: "LEDGER", refused: "attestation_gap" }
    expect(judged({ ...refused, declared: FULL_DECLARED })).toBe("decision")
    expect(judged(refused)).toBe(VERDICTS.complete)
  })
})

describe("hash and length of a text", () => {
  test.each([
    ["nothing, with 999 bytes", { payload_hash: NOTHING, payload_bytes: 999 }],
    ["something, with no bytes", { payload_bytes: 0 }],
    ["an output of nothing, with 999 bytes", { ai_output_hash: NOTHING, ai_output_bytes: 999 }],
    ["an output of something, with no bytes", { ai_output_bytes: 0 }],
    [
      "an output that is the payload, of another length",
      { ai_output_hash: sha256Hex("a"), payload_hash: sha256Hex("a") },
    ],
    ["an output without length", { ai_output_bytes: undefined }],
  ])("%s: fails", (_, values) => expect(changed(OK, "payload", values)).toBe("sections"))

  test("an empty payload and an empty AI output verify", () => {
    expect(judged({ ...OK, payload: "", ai_output: "" })).toBe(VERDICTS.complete)
  })
})

describe("the caller", () => {
  const caller = (authentication: Json): string => {
    const alter = { request_substance: (part: Json): Json => withAuthentication(part, authentication) }
    return judged({ ...OK, alter })
  }
  const withAuthentication = (part: Json, authentication: Json): Json =>
    isMembers(part) && isMembers(part.origin ?? null)
      ? { ...part, origin: { ...Object(part.origin), authentication } }
      : part
  test.each([
    ["anonymous, for a key's tenant", { method: "anonymous", api_key_id: 0 }],
    ["another key", { method: "api_key", api_key_id: 9, api_key_name: "desk 9" }],
    ["a key without name", { method: "api_key", api_key_id: 1 }],
    ["anonymous with a number", { method: "anonymous", api_key_id: 1 }],
    ["anonymous with a name", { method: "anonymous", api_key_id: 0, api_key_name: "desk" }],
  ])("%s: fails", (_, authentication) => expect(caller(authentication)).toBe("sections"))
  test("two declared sections with one salt fail", () => {
    const salt = seededHex("a salt", "twice")
    const salted = (part: Json): Json => (isMembers(part) ? { ...part, salt } : part)
    expect(judged({ ...OK, alter: { causal_graph: salted, attested_context: salted } })).toBe("sections")
  })
  test("anonymous as it is, and no other name of a tenant", () => {
    expect(judged({ ...OK, tenant: "anonymous" })).toBe(VERDICTS.complete)
    for (const tenant of ["acme", "api-key-0", "api-key-", "api-key-01"])
      expect(judged({ ...OK, tenant })).toBe("unreadable")
  })
})

describe("the policy evaluation", () => {
  const evaluation = { ...ALLOWED }
  test.each([
    ["a deny under allow", OK, { decision: "deny" }],
    ["a reason of a deny", OK, { decision_reason_code: "RULE_DENIED" }],
    ["allowed by the default", OK, { fired_rule_id: "default-deny", matched_rule_ids: [] }],
    ["allowed, and no rule matched", OK, { matched_rule_ids: [] }],
    ["allowed by a rule that did not match", OK, { fired_rule_id: "other" }],
    ["fired, and not the first", OK, { matched_rule_ids: ["a-rule", evaluation.fired_rule_id] }],
    ["matched rules that are not sorted", OK, { matched_rule_ids: [evaluation.fired_rule_id, "a-rule"] }],
    ["a rule that matched twice", OK, { matched_rule_ids: [evaluation.fired_rule_id, evaluation.fired_rule_id] }],
    ["allowed by a signature", OK, { fired_rule_id: "MCD-PI-001", matched_rule_ids: [] }],
    ["denied with the reason of an allow", DENIED, { decision_reason_code: "RULE_ALLOWED" }],
    ["denied by a match, without finding", DENIED, { decision_reason_code: "MCD_SIGNATURE_MATCH" }],
    ["denied by default, by a rule", DENIED, { decision_reason_code: "DEFAULT_DENY", matched_rule_ids: [] }],
    ["failed, and rules matched", DENIED, { decision_reason_code: "POLICY_EVALUATION_ERROR" }],
    ["failed in the default", DENIED, failed("default-deny")],
    ["a match, and rules matched", MATCHED, { matched_rule_ids: ["no-export"] }],
    ["a match by another signature", MATCHED, { fired_rule_id: "MCD-PI-002" }],
  ])("%s: fails", (_, spec, values) => expect(changed(spec, "policy_evaluation", values)).toBe("decision"))

  test.each([
    ["another reason", { decision_reason_code: "BECAUSE" }],
    ["another release of the gate", { evaluator_version: "pepg-9.9.9" }],
    ["a rule id in capitals", { matched_rule_ids: ["No-Export"], fired_rule_id: "No-Export" }],
    ["a reserved id that matched", { matched_rule_ids: ["default-deny"] }],
    ["a tag of nothing", { profile_tag: "" }],
    ["a name of two lines", { policy_name: "Baseline\npolicy" }],
    ["a name of 201 characters", { policy_name: "x".repeat(201) }],
  ])("%s: is none of ours", (_, values) => expect(changed(OK, "policy_evaluation", values)).toBe("unreadable"))

  test.each([
    ["a policy of the operator's own", OK, allowed(["a.rule_of-his.9", "z"])],
    ["denied by two of his rules", DENIED, { fired_rule_id: "0", matched_rule_ids: ["0", "no-export"] }],
    [
      "denied by default",
      DENIED,
      { decision_reason_code: "DEFAULT_DENY", fired_rule_id: "default-deny", matched_rule_ids: [] },
    ],
    ["a rule that failed", DENIED, failed("his-rule")],
    ["an engine that failed", DENIED, failed("policy-engine")],
    ["no tag", OK, { profile_tag: undefined }],
    ["a name in another script", OK, { policy_name: "Правила №1 👍", policy_id: "x".repeat(64) }],
  ])("%s: verifies", (_, spec, values) => {
    expect(changed(spec, "policy_evaluation", values)).toBe(VERDICTS.complete)
  })
})

function failed(fired_rule_id: string): Readonly<Record<string, Json>> {
  return { decision_reason_code: "POLICY_EVALUATION_ERROR", fired_rule_id, matched_rule_ids: [] }
}
function allowed(matched_rule_ids: string[]): Readonly<Record<string, Json>> {
  return { fired_rule_id: matched_rule_ids[0] ?? "", matched_rule_ids }
}

describe("the finding", () => {
  test("of another category than its signature names fails", () => {
    expect(changed(MATCHED, "mcd_finding", { category: "supply_chain" })).toBe("decision")
  })
  test("of a severity that is none, or of a signature that is none, is none of ours", () => {
    expect(changed(MATCHED, "mcd_finding", { severity: "fatal" })).toBe("unreadable")
    expect(changed(MATCHED, "mcd_finding", { matched_signature_id: "MCD-XX-001" })).toBe("unreadable")
  })
  test("of a library of the operator's own verifies with any severity", () => {
    for (const severity of ["low", "critical"])
      expect(changed(MATCHED, "mcd_finding", { severity })).toBe(VERDICTS.complete)
    expect(SIGNATURE_MATCH.severity).toBe("high")
  })
})

describe("the governance review", () => {
  const model = { ...HALTED, decision_kind: "release", decision_reason: "ACCEPTABLE", finding_count: 0 } as const
  const builtin = (values: Readonly<Record<string, Json>>): NonNullable<RunSpec["review"]> =>
    Object({ ...RELEASED, ...values })
  const exposed = { decision_kind: "halt", decision_reason: "SECRET_EXPOSED", rule_ids: ["api-key"], finding_count: 1 }
  const lies: readonly (readonly [lie: string, spec: RunSpec])[] = [
    ["a release with findings", { ...OK, review: builtin({ finding_count: 3 }) }],
    ["a release with rules that found something", { ...OK, review: builtin({ rule_ids: ["iban"], finding_count: 1 }) }],
    ["nothing to govern beside an output", { ...OK, review: builtin({ decision_reason: "NO_AI_OUTPUT" }) }],
    ["a review of no output", { ...OK, minimal: true, review: RELEASED }],
    ["a release by rules as a model has it", { ...OK, review: builtin({ decision_reason: "ACCEPTABLE" }) }],
    ["switched off, by the rules", { ...OK, review: builtin({ decision_reason: "REVIEW_DISABLED" }) }],
    ["reviewed, where it is switched off", { ...OK, review: builtin({ adapter_id: "none" }) }],
    ["rules with a model", { ...OK, review: builtin({ model: "m" }) }],
    [
      "a model that releases with another reason",
      { ...OK, review: Object({ ...model, decision_reason: "UNCERTAIN" }) },
    ],
    ["a model that releases what it found", { ...OK, review: { ...model, finding_count: 1 } }],
    ["a halt as acceptable", { outcome: "aivp_t4_halt", review: { ...HALTED, decision_reason: "ACCEPTABLE" } }],
    ["a halt as uncertain", { outcome: "aivp_t4_halt", review: { ...HALTED, decision_reason: "UNCERTAIN" } }],
    ["a model's halt without finding", { outcome: "aivp_t4_halt", review: { ...HALTED, finding_count: 0 } }],
    ["a model's halt with rules", { outcome: "aivp_t4_halt", review: { ...HALTED, rule_ids: ["iban"] } }],
    ["a halt by no rule", { outcome: "aivp_t4_halt", review: builtin({ ...exposed, rule_ids: [] }) }],
    ["a halt by a rule that denies", { outcome: "aivp_t4_halt", review: builtin({ ...exposed, rule_ids: ["iban"] }) }],
    [
      "a halt with another rule's reason",
      { outcome: "aivp_t4_halt", review: builtin({ ...exposed, decision_reason: "PRIVATE_KEY_EXPOSED" }) },
    ],
    [
      "rules that are not sorted",
      { outcome: "aivp_t4_halt", review: builtin({ ...exposed, rule_ids: ["iban", "api-key"], finding_count: 2 }) },
    ],
    [
      "a rule twice",
      { outcome: "aivp_t4_halt", review: builtin({ ...exposed, rule_ids: ["api-key", "api-key"], finding_count: 2 }) },
    ],
    [
      "fewer findings than rules",
      { outcome: "aivp_t4_halt", review: builtin({ ...exposed, rule_ids: ["api-key", "iban"] }) },
    ],
    [
      "more findings than a rule counts",
      { outcome: "aivp_t4_halt", review: builtin({ ...exposed, finding_count: 2001 }) },
    ],
    [
      "a short list of contacts",
      {
        outcome: "aivp_t4_halt",
        review: builtin({
          decision_kind: "deny",
          decision_reason: "PERSONAL_DATA",
          rule_ids: ["contact-list"],
          finding_count: 4,
        }),
      },
    ],
  ]
  test.each(lies)("%s: fails", (_, spec) => expect(judged(spec)).toBe("decision"))
  test("a model without name fails", () => {
    expect(changed({ ...OK, review: model }, "governance_review", { model: undefined })).toBe("decision")
  })

  test.each([
    ["a reason of its own", { decision_reason: "LOOKED_FINE" }],
    ["another adapter", { adapter_id: "my-reviewer" }],
    ["a rule of its own", { rule_ids: ["my-rule"] }],
    ["another release of the gate", { evaluator_version: "aivp-t4-9" }],
  ])("%s: is none of ours", (_, values) => expect(changed(OK, "governance_review", values)).toBe("unreadable"))

  const honest: readonly (readonly [string, RunSpec])[] = [
    ["a model's release", { ...OK, review: model }],
    [
      "a review that is switched off",
      { ...OK, review: builtin({ adapter_id: "none", decision_reason: "REVIEW_DISABLED" }) },
    ],
    ["a model with nothing to govern", { ...OK, minimal: true, review: { ...model, decision_reason: "NO_AI_OUTPUT" } }],
    [
      "a model that is uncertain",
      { outcome: "aivp_t4_halt", review: { ...HALTED, decision_kind: "defer", decision_reason: "UNCERTAIN" } },
    ],
    [
      "a secret beside personal data",
      {
        outcome: "aivp_t4_halt",
        review: builtin({ ...exposed, rule_ids: ["api-key", "mailing-list"], finding_count: 11 }),
      },
    ],
    [
      "a thousand card numbers",
      {
        outcome: "aivp_t4_halt",
        review: builtin({
          decision_kind: "deny",
          decision_reason: "PERSONAL_DATA",
          rule_ids: ["payment-card"],
          finding_count: 1000,
        }),
      },
    ],
  ]
  test.each(honest)("%s: verifies", (_, spec) => expect(judged(spec)).toBe(VERDICTS.complete))
})

describe("a receipt alone", () => {
  const alone = (spec: RunSpec, name: keyof SealedParts, values: Readonly<Record<string, Json>>): string => {
    const deployment = makeDeployment()
    const alter = (part: Json): Json => (isMembers(part) ? { ...part, ...values } : part)
    const { receipt } = sealRun(deployment, { ...spec, alter: { [name]: alter } })
    const report = verifyDocument(receipt, [deployment.trust])
    return isUnreadable(report) ? "unreadable" : (report.first_failure ?? report.verdict)
  }
  test.each([
    [DENIED, "deny_receipt", { decision_reason_code: "RULE_ALLOWED" }],
    [DENIED, "deny_receipt", { fired_rule_id: "default-deny" }],
    [DENIED, "deny_receipt", { mcd_finding_hash: NOTHING }],
    [MATCHED, "deny_receipt", { mcd_finding_hash: "" }],
    [{ outcome: "ccv_halt" }, "ccv_halt_receipt", { consumed_at_halt: 1_000_000 }],
    [{ outcome: "macc_halt" }, "macc_halt_receipt", { cumulative_at_halt: 999 }],
    [{ outcome: "macc_halt" }, "macc_halt_receipt", { per_run_consumption: 1241 }],
    [{ outcome: "macc_halt" }, "macc_halt_receipt", { window_start: "2026-01-16T00:00:00.000Z" }],
    [{ outcome: "aivp_t4_halt" }, "aivp_t4_halt_receipt", { halt_reason_code: "AIVP_T4_DENY" }],
    [{ outcome: "aivp_t4_halt" }, "aivp_t4_halt_receipt", { decision_reason: "ACCEPTABLE" }],
    [{ outcome: "aivp_t4_halt" }, "aivp_t4_halt_receipt", { adapter_id: "none" }],
    [
      { outcome: "aivp_t4_halt" },
      "aivp_t4_halt_receipt",
      { adapter_id: "builtin-rules", decision_reason: "UNCERTAIN" },
    ],
    [{ outcome: "attestation_gap" }, "attestation_gap_receipt", { missing_fields: ["model_name"] }],
    [{ outcome: "attestation_gap" }, "attestation_gap_receipt", { missing_fields: ["prompt_hash", "actor_role"] }],
  ] as const)("%o with %s %o fails", (spec, name, values) => expect(alone(spec, name, values)).toBe("decision"))

  test("that names a field which no request has is none of ours", () => {
    const spec: RunSpec = { outcome: "attestation_gap" }
    expect(changed(spec, "attestation_gap_receipt", { required_fields: ["zodiac"], missing_fields: ["zodiac"] })).toBe(
      "unreadable",
    )
    expect(changed(spec, "attestation_gap_receipt", { missing_fields: [] })).toBe("unreadable")
  })
})
