import { describe, expect, test } from "vitest"
import { seededHex } from "../../log/test/seeded-keys.ts"
import { withhold } from "../src/artifacts/declared-sections.ts"
import { reduce } from "../src/derivation/derive.ts"
import { dcaeClosure, kernelRecord } from "../src/derivation/v2/kernel-commitments.ts"
import { isUnreadable, verifyText } from "../src/verify/document.ts"
import { VERDICTS } from "../src/verify/report.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import type { Json } from "./fixtures/json-values.ts"
import { asJson, isMembers } from "./fixtures/json-values.ts"
import type { RunSpec } from "./fixtures/run-spec.ts"

// The operator holds every key and makes every hash right. What remains is what a stated result says beside the sections that are shown.

const OK: RunSpec = { outcome: "ok" }

describe("a kernel that reads what is withheld", () => {
  const READ = ["attested_context", "request_substance", "authorization_chain", "causal_graph"] as const
  /** What a record is judged as with declared sections withheld, all that kernels read or some, and another kernel record. */
  const verdictWith = (
    kernel: number,
    values: Readonly<Record<string, Json>>,
    spec: RunSpec = OK,
    names: readonly (typeof READ)[number][] = READ,
  ): string => {
    const deployment = makeDeployment()
    const alter = (part: Json): Json => (isMembers(part) ? { ...part, kernels: rebuilt(kernel, values, spec) } : part)
    try {
      const { bundle } = sealRun(deployment, { ...spec, alter: { efa: alter } })
      const withheld = Object.fromEntries(names.map(name => [name, withhold(bundle.sections[name])]))
      const shown = { ...bundle, sections: { ...bundle.sections, ...withheld } }
      const report = verifyText(JSON.stringify(reduce(shown)), [deployment.trust])
      return isUnreadable(report) ? "unreadable" : (report.first_failure ?? report.verdict)
    } catch (error) {
      if (error instanceof Error && error.message.endsWith("is changed into something else")) return "unreadable"
      throw error
    }
  }
  /** The six records with one changed, each hash made right, and the closure over them too. */
  const rebuilt = (kernel: number, values: Readonly<Record<string, Json>>, spec: RunSpec): Json => {
    const { sections } = sealRun(makeDeployment(), spec).bundle
    const { envelope, efa } = sections
    if (envelope === undefined || efa === undefined) throw new Error("an ok run has kernels")
    const sources = { ...sections, envelope }
    const made = efa.kernels.map((record, at) => {
      if (at !== kernel) return record
      const { output, findings } = { ...record, ...Object(values) }
      return { ...kernelRecord(record.kernel, sources, output, findings), ...pickVersion(values) }
    })
    if (kernel === made.length - 1) return asJson(made)
    const closure = dcaeClosure(made.slice(0, -1).map(record => record.execution_id))
    const closing = kernelRecord("DCAE", sources, { closure }, efa.kernels.at(-1)?.findings ?? [])
    return asJson([...made.slice(0, -1), closing])
  }
  const pickVersion = ({ kernel_version }: Readonly<Record<string, Json>>): object =>
    kernel_version === undefined ? {} : { kernel_version }
  const ordering_hash = seededHex("an ordering", "of nothing")
  const found = (code: string, count = 1): Json => [{ code, count }]

  const COMMITMENT = "a".repeat(64)
  const [NREP, AIVP] = [3, 4]
  const BARE: RunSpec = { outcome: "ok", declared: { attested_context: { actor_id: "a" } } }
  const approvedBy = (actor_id: string, ...ids: readonly string[]): RunSpec => ({
    outcome: "ok",
    declared: {
      attested_context: { actor_id },
      authorization_chain: { approvers: ids.map(actor_id => ({ actor_id })) },
    },
  })
  const APPROVED = approvedBy("me", "a", "b", "a", "", "me", "a")
  const [APPROVED_ONCE, ACTORLESS] = [approvedBy("me", "a"), approvedBy("", "a")]
  const approvers = (repeated: number, unnamed: number, ofActor: number): { findings: Json } => ({
    findings: [
      { code: "APPROVER_REPEATED", count: repeated },
      { code: "APPROVER_UNNAMED", count: unnamed },
      { code: "APPROVER_IS_ACTOR", count: ofActor },
    ],
  })
  test.each<[string, number, Readonly<Record<string, Json>>, RunSpec, (typeof READ)[number]]>([
    [
      "another model than the shown context",
      AIVP,
      { output: { model_commitment: COMMITMENT } },
      OK,
      "request_substance",
    ],
    [
      "two prompts beside a context of none",
      AIVP,
      { findings: found("PROMPT_HASH_MISMATCH") },
      BARE,
      "request_substance",
    ],
    [
      "an output other than the one declared nowhere",
      AIVP,
      { findings: found("AI_OUTPUT_HASH_MISMATCH") },
      BARE,
      "attested_context",
    ],
    [
      "a signature that the shown context has not",
      NREP,
      {
        output: { caller_commitment: COMMITMENT, actor_signature: "declared_not_verified" },
        findings: found("ACTOR_SIGNATURE_NOT_VERIFIED"),
      },
      BARE,
      "request_substance",
    ],
    [
      "another caller than the shown substance",
      NREP,
      { output: { caller_commitment: COMMITMENT, actor_signature: "absent" }, findings: [] },
      BARE,
      "attested_context",
    ],
    ["fewer times than are shown", 1, { output: { timestamp_count: 0, ordering_hash } }, OK, "causal_graph"],
    ["approvers out of a shown order", 1, { findings: found("APPROVERS_OUT_OF_SEQUENCE") }, OK, "causal_graph"],
    ["effects out of a shown order", 1, { findings: found("TIMESTAMP_OUT_OF_ORDER") }, OK, "authorization_chain"],
    ["no actor among shown approvers", 1, { findings: [] }, OK, "causal_graph"],
    ["more unnamed approvers than are shown", 1, approvers(2, 2, 1), APPROVED, "attested_context"],
    ["fewer repeated approvers than are shown", 1, approvers(1, 1, 1), APPROVED, "attested_context"],
    ["an actor as often as no approver is shown", 1, approvers(2, 1, 2), APPROVED, "attested_context"],
    [
      "an actor that the shown context has not",
      1,
      { findings: found("APPROVER_IS_ACTOR") },
      ACTORLESS,
      "authorization_chain",
    ],
    [
      "a repeated approver of one name",
      1,
      { findings: found("APPROVER_REPEATED") },
      APPROVED_ONCE,
      "authorization_chain",
    ],
  ])("that states %s fails", (_, kernel, values, spec, name) => {
    expect(verdictWith(kernel, {}, spec, [name])).toBe(VERDICTS.complete)
    expect(verdictWith(kernel, values, spec, [name])).toBe("executions")
  })

  test("that states a cost of no values fails", () => {
    const findings = found("COST_DOES_NOT_ADD_UP")
    expect(verdictWith(5, { findings }, BARE)).toBe("executions")
  })

  test.each([
    ["a finding of another kernel", 1, { findings: found("COST_DOES_NOT_ADD_UP") }],
    ["a finding of no kernel", 3, { findings: found("LOOKS_GOOD") }],
    ["an output of its own", 4, { output: { verified: true } }],
    ["a count that is none", 1, { output: { timestamp_count: "9", ordering_hash } }],
    ["another release of the kernels", 1, { kernel_version: "kernels-9" }],
    ["a finding where it looks for none", 2, { findings: found("TIMESTAMP_UNPARSABLE") }],
    [
      "more findings than it has codes",
      3,
      {
        findings: [...Object(found("ACTOR_SIGNATURE_NOT_VERIFIED")), ...Object(found("ACTOR_SIGNATURE_NOT_VERIFIED"))],
      },
    ],
  ] as const)("that states %s is none of ours", (_, kernel, values) =>
    expect(verdictWith(kernel, values)).toBe("unreadable"),
  )

  test.each([
    ["a verified signature that it did not look at", 3, { findings: [] }],
    ["a signature counted twice", 3, { findings: found("ACTOR_SIGNATURE_NOT_VERIFIED", 2) }],
    ["an unchecked hash beside an output", 4, { findings: found("AI_OUTPUT_HASH_UNCHECKED") }],
    [
      "more unreadable times than times",
      1,
      { output: { timestamp_count: 1, ordering_hash }, findings: found("TIMESTAMP_UNPARSABLE", 2) },
    ],
    [
      "steps back among fewer times",
      1,
      { output: { timestamp_count: 1, ordering_hash }, findings: found("TIMESTAMP_OUT_OF_ORDER", 1) },
    ],
    ["more times than values", 1, { output: { timestamp_count: 9999, ordering_hash } }],
    [
      "findings out of order",
      4,
      { findings: [...Object(found("AI_OUTPUT_HASH_MISMATCH")), ...Object(found("PROMPT_HASH_MISMATCH"))] },
    ],
    ["a closure over something else", 5, { output: { closure: ordering_hash } }],
  ] as const)("that states %s fails", (_, kernel, values) => expect(verdictWith(kernel, values)).toBe("executions"))

  test("as it was, verifies", () => expect(verdictWith(9, {})).toBe(VERDICTS.complete))
})
