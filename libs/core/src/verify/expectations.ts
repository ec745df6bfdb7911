/** The members and sections that a bundle of each outcome has. docs/formats.md section 9. */
import type { BundleBody } from "../artifacts/bundle-schema.ts"
import type { SectionName } from "../artifacts/sections.ts"
import { derivedNames } from "../derivation/v2/derive-sections.ts"
import { isCloseRecord, sectionsUntil } from "../derivation/v2/transcript.ts"
import type { OutcomeKind } from "../vocabulary/outcomes.ts"
import { OUTCOMES, RECEIPT_KEYS } from "../vocabulary/outcomes.ts"
import type { ExaminedBundle } from "./examination.ts"
import { refusingGate } from "./stage-error.ts"

/** The sections that stages 7–9 add to a completed run. */
const AFTER_LOG: readonly SectionName[] = ["pote_proof", "registry", "final_vfa"]

/**
 * The sections of a record follow from the steps that its run took: all of them, those up to the gate that stopped it, or those before
 * the step that failed. A finding is there only after a match.
 */
function expectedSections(bundle: BundleBody): readonly SectionName[] {
  const { outcome_kind: outcome, error_stage: failed } = bundle.run
  const isClose = isCloseRecord(bundle.sections)
  if (outcome === "ok") return [...sectionsUntil("LEDGER", isClose), "transcript", ...AFTER_LOG]
  // A stage_error has no transcript, and the sections of stages 7–9 are lost when one of these fails.
  if (outcome === "stage_error") return failed === undefined ? [] : sectionsUntil(failed, isClose, refusingGate(bundle))
  const { error_stage: gate } = OUTCOMES[outcome]
  return gate === "" ? [] : [...sectionsUntil("LEDGER", isClose, gate), "transcript"]
}

/** Top-level members beside kind, run, sections, anchors and bundle_hash. */
function membersOf(outcome: OutcomeKind): readonly string[] {
  const { artifact, marker } = OUTCOMES[outcome]
  const beforeKernels = outcome === "pepg_deny" || outcome === "attestation_gap" || outcome === "stage_error"
  return [
    outcome === "ok" ? "manifest" : "derived",
    ...(marker === undefined ? [] : ["partial_manifest"]),
    ...(beforeKernels ? [] : ["allow_token"]),
    ...(artifact === undefined ? [] : [artifact.key]),
  ]
}

const ALL_MEMBERS = ["manifest", "derived", "partial_manifest", "allow_token", ...RECEIPT_KEYS] as const

/** Checks that every member beside the sections is there exactly when it belongs to the outcome. */
export function checkMembers({ sealed, findings }: ExaminedBundle): void {
  const members = membersOf(sealed.run.outcome_kind)
  for (const name of ALL_MEMBERS) {
    const wanted = members.includes(name)
    const problem = `${name} ${wanted ? "is missing" : "does not belong here"}`
    findings.require("shape", (sealed[name] !== undefined) === wanted, problem)
  }
}

/** Sections that PEPG makes where an act table names the route, and where a signature matched. */
const WHERE_THERE_IS_ONE: readonly string[] = ["act", "mcd_finding"]

/** Checks that every section is held or named exactly when it belongs to the outcome. */
export function checkSectionPresence({ sealed, bundle, findings }: ExaminedBundle): void {
  const present: readonly string[] = [...Object.keys(sealed.sections), ...derivedNames(sealed)]
  const expected: readonly string[] = expectedSections(bundle)
  for (const name of expected)
    findings.require(
      "sections",
      present.includes(name) || WHERE_THERE_IS_ONE.includes(name),
      `section ${name} is missing`,
    )
  for (const name of present)
    findings.require("sections", expected.includes(name), `section ${name} does not belong here`)
}
