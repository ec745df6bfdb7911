import { describe, expect, test } from "vitest"
import type { SectionName } from "../src/artifacts/sections.ts"
import { reduce } from "../src/derivation/derive.ts"
import { bundleHash } from "../src/formulas/manifest-sections.ts"
import { isUnreadable, verifyText } from "../src/verify/document.ts"
import { evidenceSummary } from "../src/verify/evidence-summary.ts"
import { type Report, VERDICTS } from "../src/verify/report.ts"
import type { RefusedKind } from "../src/vocabulary/outcomes.ts"
import { OUTCOMES } from "../src/vocabulary/outcomes.ts"
import type { TranscriptStep } from "../src/vocabulary/pipeline-path.ts"
import { WHOLE_PATH } from "../src/vocabulary/pipeline-path.ts"
import { FAILING_STEPS, faultSentences } from "../src/vocabulary/stage-faults.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"
import { withValue } from "./fixtures/json-values.ts"
import { reportOn } from "./fixtures/judged.ts"
import type { RunSpec } from "./fixtures/run-spec.ts"
import { HALTED } from "./fixtures/samples.ts"

// The operator holds every key. A stage_error is the record in which he may say that a step failed; what it holds must then
// be what such a run had made, and no gate may have stopped it before.

const REFUSED: readonly RefusedKind[] = ["attestation_gap", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt"]
/** Steps with which the sections of a run are all there. */
const WHOLE: readonly TranscriptStep[] = ["LEDGER", "REGISTRY", "DLA"]

/** Whether two steps leave the same sections behind: sealing, of a whole run or of one that admission refused before PEPG. */
const isAlike = (one: TranscriptStep, other: TranscriptStep): boolean =>
  [one, other].every(step => WHOLE.includes(step)) ||
  [one, other].every(step => step === "PEPG" || step === "LEDGER" || step === "DLA")

function verified(spec: Omit<RunSpec, "outcome">, change = (document: object): object => document): Report {
  const deployment = makeDeployment()
  const { bundle } = sealRun(deployment, { ...spec, outcome: "stage_error" })
  return reportOn(change(bundle), [deployment.trust])
}
const failed = (report: Report): readonly string[] =>
  report.checks.filter(({ result }) => result === "fail").map(({ id }) => id)

describe.each(FAILING_STEPS)("a run whose step %s failed", failed_step => {
  test("verifies with what had been made until then", () => {
    const report = verified({ failed_step })
    expect(report.verdict).toBe(VERDICTS.complete)
    expect(report.statement).toBe(`${OUTCOMES.stage_error.sentence} Failed stage: ${failed_step}.`)
  })

  const others = FAILING_STEPS.filter(step => step !== failed_step && !isAlike(step, failed_step))
  test.each(others)("fails when %s is named instead: it holds too much or too little", named_step => {
    expect(failed(verified({ failed_step, named_step }))).toContain("sections")
  })

  test("fails with a sentence on another step, or with one of its own", () => {
    const other = FAILING_STEPS.flatMap(faultSentences).find(text => !faultSentences(failed_step).includes(text))
    for (const error_message of [other, "It was nothing.", undefined]) {
      const report = verified({ failed_step }, document => {
        if (!("run" in document) || typeof document.run !== "object") return document
        const { error_message: _, ...run } = { error_message: "", ...document.run }
        return { ...document, run: { ...run, ...(error_message === undefined ? {} : { error_message }) } }
      })
      expect(failed(report)).toContain("shape")
    }
  })
})

test.each(WHOLE_PATH.filter(step => !FAILING_STEPS.some(name => name === step)))(
  "%s only compares and cannot fail",
  failed_step => {
    expect(failed(verified({ failed_step }))).toContain("shape")
  },
)

describe.each(REFUSED)("a run that had ended as %s before its sealing failed", refused => {
  test.each(["LEDGER", "DLA"] as const)(
    "verifies as a stage_error of %s, and says that a gate had stopped it",
    step => {
      const report = verified({ failed_step: step, refused })
      expect(report.verdict).toBe(VERDICTS.complete)
      expect(report.statement).toMatch(
        new RegExp(` had (refused|denied|halted) this run \\(.+\\); then stage ${step} failed\\.$`),
      )
      const { bundle } = sealRun(makeDeployment(), { outcome: "stage_error", failed_step: step, refused })
      const refusal = evidenceSummary(bundle).find(({ label }) => label === "refused before")
      expect(report.statement).toBe(`${OUTCOMES.stage_error.sentence} ${refusal?.value}`)
    },
  )

  // A refused admission makes no section. So when its record names the scan as failed, it is the record of a failed scan.
  const hidden = refused === "attestation_gap" ? ["PEPG"] : []
  const elsewhere = FAILING_STEPS.filter(step => !["LEDGER", "DLA", ...hidden].includes(step))
  test.each(elsewhere)("fails as a stage_error of %s", named_step => {
    expect(verified({ failed_step: "DLA", named_step, refused }).verdict).toBe(VERDICTS.failed)
  })
})

test("what had stopped a run is refusal from its decision", () => {
  const statementOf = (refused: RefusedKind, spec: Omit<RunSpec, "outcome"> = {}): string =>
    (verified({ failed_step: "LEDGER", refused, ...spec }).statement ?? "").slice(
      OUTCOMES.stage_error.sentence.length + 1,
    )
  expect(statementOf("pepg_deny", { denied_by: "rule" })).toBe(
    "The policy gate had denied this run (rule no-export); then stage LEDGER failed.",
  )
  expect(statementOf("pepg_deny")).toMatch(/^The policy gate had denied this run \(signature MCD-PI-001\); then/i)
  expect(statementOf("ccv_halt")).toContain(
    "The budget of one run had halted this run (1000001 tokens declared, limit 1000000)",
  )
  expect(statementOf("macc_halt")).toContain(
    "The tenant's cumulative budget had halted this run (window total 1240, cap 1000)",
  )
  expect(statementOf("aivp_t4_halt")).toContain(
    "The governance review had halted this run (halt by openai-compatible, reason",
  )
  expect(statementOf("attestation_gap")).toContain(
    "The admission gate had refused this run (required attested fields were missing)",
  )
})

describe("a run that passes a gate which had to stop it fails", () => {
  const denied = (part: Parameters<typeof withValue>[0]) => withValue(part, "/decision", "deny")
  const lies: readonly (readonly [lie: string, spec: Omit<RunSpec, "outcome">, from: TranscriptStep])[] = [
    ["the policy gate denied", { alter: { policy_evaluation: denied } }, "DKEC"],
    ["more tokens are declared than a run may use", { run_limit: 1000 }, "AIVP_T4"],
    ["the window is at its cap", { window_cap: 1240 }, "AIVP_T4"],
    ["the review halted", { review: HALTED }, "AER"],
  ]
  for (const [lie, spec, from] of lies) {
    const steps = FAILING_STEPS.filter(step => WHOLE_PATH.indexOf(step) >= WHOLE_PATH.indexOf(from))
    test.each(steps)(`${lie}, and %s is statementOf to have failed`, failed_step => {
      expect(verified({ failed_step, ...spec }).verdict).toBe(VERDICTS.failed)
    })
  }
})

test("no section of a later stage and no transcript stands in a stage_error", () => {
  const { sections } = sealRun(makeDeployment(), { outcome: "ok" }).bundle
  const later: readonly SectionName[] = ["pote_proof", "registry", "final_vfa", "transcript"]
  for (const name of later) {
    const report = verified({ failed_step: "DLA" }, document => {
      if (!("sections" in document) || typeof document.sections !== "object") return document
      return { ...document, sections: { ...document.sections, [name]: sections[name] } }
    })
    expect(failed(report)).toContain("sections")
  }
})

test("a refused run says why in its outcome's sentence, a completed one says nothing", () => {
  for (const outcome of ["ok", ...REFUSED] as const) {
    const deployment = makeDeployment()
    const { bundle } = sealRun(deployment, { outcome })
    const { error_message, ...run } = { error_message: "nothing", ...bundle.run }
    const changed = { ...bundle, run: outcome === "ok" ? { ...run, error_message } : run }
    const text = JSON.stringify({ ...changed, bundle_hash: bundleHash(reduce(changed)) })
    const report = verifyText(text, [deployment.trust])
    expect(isUnreadable(report) ? [] : failed(report)).toContain("shape")
  }
})
