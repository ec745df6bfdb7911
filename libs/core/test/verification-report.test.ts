import { describe, expect, test } from "vitest"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import { withhold } from "../src/artifacts/declared-sections.ts"
import { verifyBundle } from "../src/verify/bundle.ts"
import { isUnreadable, verifyDocument } from "../src/verify/document.ts"
import { evidenceSummary } from "../src/verify/evidence-summary.ts"
import { collectFindings } from "../src/verify/examination.ts"
import { absent, CHECK_IDS, exitCode, LIMITATIONS, limitation, VERDICTS } from "../src/verify/report.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { asJson } from "./fixtures/json-values.ts"
import type { RunSpec } from "./fixtures/run-spec.ts"
import { RELEASED } from "./fixtures/samples.ts"

const a = makeDeployment()
const bundleOf = (spec: RunSpec): Bundle => sealRun(a, spec).bundle

describe("a verdict's exit code", () => {
  const { complete, anchored, receipt, attestation, receipt_unanchored, unanchored, run_statement, failed } = VERDICTS
  test.each([complete, anchored, receipt, attestation])("of %s is 0", verdict => {
    expect([exitCode(verdict, false), exitCode(verdict, true)]).toEqual([0, 0])
  })
  test.each([receipt_unanchored, unanchored, run_statement])("of %s is 1, and 0 when the caller allows it", verdict => {
    expect([exitCode(verdict, false), exitCode(verdict, true)]).toEqual([1, 0])
  })
  test("of FAILED is 1 whatever the caller allows", () => {
    expect([exitCode(failed, false), exitCode(failed, true)]).toEqual([1, 1])
  })
})

describe("findings", () => {
  test("are reported in the order of the checks, failures before what was passed or absent", () => {
    const findings = collectFindings()
    findings.fail("log_time", "late")
    findings.require("shape", true, "never said")
    findings.require("entry", false, "first")
    findings.fail("entry", "second")
    const checks = findings.checks({ shape: "fine", entry: "never said", leaf: absent("leaf", "none") })
    expect(checks).toEqual([
      { id: "shape", result: "pass", message: "fine" },
      { id: "leaf", result: "absent", message: "none" },
      { id: "entry", result: "fail", message: "first (and 1 more)" },
      { id: "log_time", result: "fail", message: "late" },
    ])
  })
})

describe("a report", () => {
  const codes = (bundle: Bundle): readonly string[] =>
    verifyBundle(bundle, [a.trust]).limitations.map(({ code }) => code)

  test("gives every check of a bundle its result, also after a failure", () => {
    const good = verifyBundle(bundleOf({ outcome: "ok" }), [a.trust])
    const always = CHECK_IDS.filter(id => id !== "outside" && id !== "witnessed")
    expect(good.checks.map(({ id }) => id)).toEqual(always)
    const bad = verifyBundle({ ...bundleOf({ outcome: "ok" }), bundle_hash: "0".repeat(64) }, [a.trust])
    expect(bad.checks.map(({ id }) => id)).toEqual(always)
    expect(bad.first_failure).toBe("bundle_hash")
  })

  test("says of a refused run what was refused, and of a stage error that it is no attestation", () => {
    const statement = (spec: RunSpec): string | undefined => verifyBundle(bundleOf(spec), [a.trust]).statement
    expect(statement({ outcome: "ok" })).toBeUndefined()
    expect(statement({ outcome: "pepg_deny" })).toBe("The policy gate denied the run before any kernel ran.")
    expect(statement({ outcome: "stage_error", failed_step: "ZKSP" })).toBe(
      "A pipeline stage failed; the record is for operational diagnosis and is not an attestation. Failed stage: ZKSP.",
    )
  })

  test("says what no document can show", () => {
    const always = ["operator_log", "declared_content", "chain_tail", "software_attestation"]
    expect(codes(bundleOf({ outcome: "ok" }))).toEqual([...always, "builtin_reviewer"])
    expect(codes(bundleOf({ outcome: "ok", minimal: true }))).toEqual(always)
    expect(codes(bundleOf({ outcome: "ok", review: { ...RELEASED, adapter_id: "none" } }))).toEqual([
      ...always,
      "review_disabled",
    ])
    expect(codes(bundleOf({ outcome: "ok", review: { ...RELEASED, adapter_id: "anthropic", model: "m" } }))).toEqual(
      always,
    )
    const unanchored: RunSpec = { outcome: "pepg_deny", receipt_anchor: "none", complete_record: false }
    expect(codes(bundleOf(unanchored))).toEqual(["declared_content", "software_attestation"])
  })

  test("lists what is withheld, and does not claim to have run the kernels that read it", () => {
    const bundle = bundleOf({ outcome: "ok" })
    const sections = { ...bundle.sections, request_substance: withhold(bundle.sections.request_substance) }
    const report = verifyBundle({ ...bundle, sections }, [a.trust])
    expect(report).toMatchObject({ verdict: VERDICTS.complete, withheld: ["request_substance"] })
    const results = Object.fromEntries(report.checks.map(({ id, result, message }) => [id, { result, message }]))
    expect(results.sections).toEqual({ result: "withheld", message: "25 sections match; withheld: request_substance" })
    expect(results.decision).toMatchObject({ result: "withheld" })
    expect(results.executions).toEqual({
      result: "withheld",
      message:
        "run again, DSE, DSC give what is recorded; TOK, NREP, AIVP, DCAE read what is withheld and only their hashes were checked",
    })
    const gap = bundleOf({ outcome: "attestation_gap" })
    const hidden = { ...gap.sections, attested_context: withhold(gap.sections.attested_context) }
    const checks = verifyBundle({ ...gap, sections: hidden }, [a.trust]).checks
    expect(checks.find(({ id }) => id === "decision")?.result).toBe("withheld")
  })

  test("marks as strict what is weaker than a record of now with a real review and all its content, and not what every software-only record discloses", () => {
    const strict = Object.entries(LIMITATIONS).flatMap(([code, { strict }]) => (strict ? [code] : []))
    expect(strict.sort()).toEqual([
      "builtin_reviewer",
      "future_dated",
      "key_revoked_later",
      "observed_only",
      "output_not_reviewed",
      "repeats_beyond",
      "review_disabled",
      "withheld_section",
    ])
    expect(limitation("withheld_section")).toMatchObject({ code: "withheld_section", strict: true })
  })
})

describe("a stage error", () => {
  test("holds what was completed and nothing that needs what was not", () => {
    const bundle = bundleOf({ outcome: "stage_error", failed_step: "DLA" })
    const completed = [
      "envelope",
      "transport",
      "policy_evaluation",
      "epa",
      "leakage_bundle",
      "efa",
      "aer",
      "zksp_binding",
    ]
    for (const name of completed) {
      const sections = { ...bundle.sections }
      Reflect.deleteProperty(sections, name)
      const report = verifyBundle({ ...bundle, sections }, [a.trust])
      expect(report.checks).toContainEqual(expect.objectContaining({ id: "sections", result: "fail" }))
    }
  })
})

describe("a document that is none of ours", () => {
  const sentence = (value: unknown): string => {
    const result = verifyDocument(value, [])
    return isUnreadable(result) ? result.unreadable : result.verdict
  }
  test("gets advice on what to save instead", () => {
    expect(sentence({ ok: true, run_id: 1, allow_token: {} })).toContain("save the run's bundle")
    expect(sentence({ ok: false, error: "no" })).toContain("this is an error answer")
    expect(sentence(asJson(a.trustDocument))).toBe("this is a trust document, not a record: pass it with --trust FILE")
    expect(sentence({ ok: true, total: 1, limit: 50, offset: 0, runs: [] })).toContain("this is a list of runs")
    expect(sentence({})).toContain("not a Runseal document")
    expect(sentence([])).toContain("not a JSON object")
  })
})

describe("the evidence summary", () => {
  const lines = (bundle: Bundle): Readonly<Record<string, string>> =>
    Object.fromEntries(evidenceSummary(bundle).map(({ label, value }) => [label, value]))

  test("of a completed run names its facts in reading order", () => {
    const bundle = bundleOf({ outcome: "ok" })
    expect(Object.keys(lines(bundle))).toEqual([
      ...["run", "outcome", "created at", "tenant", "program", "route", "region", "payload SHA-256", "policy rule"],
      ...["declared tokens", "window total after", "governance review", "kernel findings", "declared sections"],
      ...["manifest hash", "log entry", "complete-record entry", "tenant ordinal", "bundle hash"],
    ])
    expect(lines(bundle)).toMatchObject({
      run: `${bundle.run.run_id}`,
      outcome: "ok",
      "declared tokens": "1240",
      "governance review": "release by builtin-rules (NO_FINDINGS)",
      "kernel findings": "TOK APPROVER_IS_ACTOR ×1, NREP ACTOR_SIGNATURE_NOT_VERIFIED ×1",
      "manifest hash": bundle.manifest!.ManifestHash,
      "log entry": bundle.anchors.pre_anchor!.entry.logIndex,
    })
  })

  test("says which declared sections are there, absent or withheld", () => {
    const bundle = bundleOf({ outcome: "ok", declared: { causal_graph: {}, request_substance: {} } })
    const sections = { ...bundle.sections, causal_graph: withhold(bundle.sections.causal_graph) }
    expect(lines({ ...bundle, sections })["declared sections"]).toBe(
      "attested_context –, request_substance ✓, authorization_chain –, regulatory_scaffolding –, causal_graph withheld, reproducibility_context –",
    )
  })

  test("of a refused run names its receipt, of a stage error only what was completed", () => {
    const denied = bundleOf({ outcome: "pepg_deny" })
    expect(lines(denied)).toMatchObject({
      "policy rule": "MCD-PI-001",
      "signature match": "MCD-PI-001 in payload",
      "receipt hash": denied.deny_receipt!.hash,
      "manifest hash": denied.partial_manifest!.ManifestHash,
    })
    const failed = lines(bundleOf({ outcome: "stage_error", failed_step: "DOG" }))
    expect(lines(bundleOf({ outcome: "ok", observed: true }))["signature match"]).toBe(
      "MCD-PI-001 in payload, observed only",
    )
    for (const label of ["policy rule", "kernel findings", "manifest hash", "receipt hash", "log entry"])
      expect(failed).not.toHaveProperty(label)
    expect(lines(bundleOf({ outcome: "ok", minimal: true }))["kernel findings"]).toBe("none")
  })
})
