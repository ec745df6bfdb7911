/** What a bundle of each outcome must hold, and must not. docs/formats.md section 9. */
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import type { SectionName } from "../artifacts/sections.ts"
import { sectionsUntil } from "../formulas/steps.ts"
import type { OutcomeKind } from "../vocabulary/outcomes.ts"
import { OUTCOMES, RECEIPT_KEYS } from "../vocabulary/outcomes.ts"
import type { Findings } from "./report.ts"
import { refusingGate } from "./stage-error.ts"

/** What stages 7–9 make of a completed run. */
const AFTER_LOG: readonly SectionName[] = ["pote_proof", "registry", "final_vfa"]

/**
 * Sections of a record by what its run did: all steps, the steps up to the gate that stopped it, or those before the step
 * that failed. A finding is there only after a match.
 */
function expectedSections(bundle: BundleBody): readonly SectionName[] {
  const { outcome_kind: outcome, error_stage: failed } = bundle.run
  if (outcome === "ok") return [...sectionsUntil("LEDGER"), "transcript", ...AFTER_LOG]
  // A transcript tells of an end; what stages 7–9 make is lost when one of them fails.
  if (outcome === "stage_error") return failed === undefined ? [] : sectionsUntil(failed, refusingGate(bundle))
  const { error_stage: gate } = OUTCOMES[outcome]
  return gate === "" ? [] : [...sectionsUntil("LEDGER", gate), "transcript"]
}

/** Top-level members beside kind, run, sections, anchors and bundle_hash. */
function membersOf(outcome: OutcomeKind): readonly string[] {
  const { artifact, marker } = OUTCOMES[outcome]
  const beforeKernels = outcome === "pepg_deny" || outcome === "attestation_gap" || outcome === "stage_error"
  return [
    ...(outcome === "ok" ? ["manifest"] : []),
    ...(marker === undefined ? [] : ["partial_manifest"]),
    ...(beforeKernels ? [] : ["allow_token"]),
    ...(artifact === undefined ? [] : [artifact.key]),
  ]
}

const ALL_MEMBERS = ["manifest", "partial_manifest", "allow_token", ...RECEIPT_KEYS] as const

/** Notes every member beside the sections that is missing or does not belong to the outcome. */
export function checkMembers(bundle: BundleBody, findings: Findings): void {
  const members = membersOf(bundle.run.outcome_kind)
  for (const name of ALL_MEMBERS) {
    const wanted = members.includes(name)
    findings.require(
      "shape",
      (bundle[name] !== undefined) === wanted,
      `${name} ${wanted ? "is missing" : "does not belong here"}`,
    )
  }
}

/** Notes every section that is missing or does not belong to the outcome. */
export function checkSectionPresence(bundle: BundleBody, findings: Findings): void {
  const present = Object.keys(bundle.sections)
  const expected: readonly string[] = expectedSections(bundle)
  for (const name of expected)
    findings.require("sections", present.includes(name) || name === "mcd_finding", `section ${name} is missing`)
  for (const name of present)
    findings.require("sections", expected.includes(name), `section ${name} does not belong here`)
}
