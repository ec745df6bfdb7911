/** What a bundle of each outcome must hold, and must not. FORMATS §3. */
import type { BundleBody } from "../artifacts/bundle.ts"
import { DECLARED_NAMES } from "../artifacts/declared-sections.ts"
import type { SectionName } from "../artifacts/sections.ts"
import type { OutcomeKind } from "../vocabulary/outcomes.ts"
import { OUTCOMES, RECEIPT_KEYS } from "../vocabulary/outcomes.ts"
import type { Findings } from "./report.ts"

const ADMITTED: readonly SectionName[] = ["payload", ...DECLARED_NAMES, "system_provenance", "envelope", "transport"]
const EXECUTED: readonly SectionName[] = [
  ...ADMITTED,
  "policy_evaluation",
  "epa",
  "leakage_bundle",
  "efa",
  "budget_snapshot",
  "transcript",
]

/** Sections that every run of an outcome has. */
export const REQUIRED_SECTIONS: Readonly<Record<OutcomeKind, readonly SectionName[]>> = {
  ok: [
    ...EXECUTED,
    "governance_review",
    "aer",
    "hardware_attestation",
    "zksp_binding",
    "migration_token",
    "replay_fingerprint",
    "pote_proof",
    "registry",
    "final_vfa",
  ],
  pepg_deny: [...ADMITTED, "policy_evaluation", "transcript"],
  ccv_halt: EXECUTED,
  macc_halt: EXECUTED,
  aivp_t4_halt: [...EXECUTED, "governance_review"],
  attestation_gap: [...ADMITTED, "transcript"],
  stage_error: ["payload", ...DECLARED_NAMES, "system_provenance"],
}

/**
 * What a stage_error may hold, in the order in which it is made: what was completed when its step failed. What stages 7–9
 * make, and the transcript that tells of an end, never stand in it.
 */
const COMPLETED_IN_ORDER: readonly SectionName[] = [
  "envelope",
  "transport",
  "policy_evaluation",
  "epa",
  "leakage_bundle",
  "efa",
  "budget_snapshot",
  "governance_review",
  "aer",
  "hardware_attestation",
  "zksp_binding",
  "migration_token",
  "replay_fingerprint",
]

/** Sections that only some runs of an outcome have. */
const OPTIONAL_SECTIONS: Readonly<Partial<Record<OutcomeKind, readonly SectionName[]>>> = {
  pepg_deny: ["mcd_finding"],
  stage_error: ["mcd_finding", ...COMPLETED_IN_ORDER],
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
export function checkSectionPresence({ run, sections }: BundleBody, findings: Findings): void {
  const outcome = run.outcome_kind
  const present = Object.keys(sections)
  for (const name of REQUIRED_SECTIONS[outcome])
    findings.require("sections", present.includes(name), `section ${name} is missing`)
  const allowed: readonly string[] = [...REQUIRED_SECTIONS[outcome], ...(OPTIONAL_SECTIONS[outcome] ?? [])]
  for (const name of present)
    findings.require("sections", allowed.includes(name), `section ${name} does not belong here`)
  if (outcome === "stage_error") {
    const missing = COMPLETED_IN_ORDER.findIndex(name => !present.includes(name))
    const stranded = missing === -1 ? [] : COMPLETED_IN_ORDER.slice(missing).filter(name => present.includes(name))
    for (const name of stranded)
      findings.fail("sections", `section ${name} stands without ${COMPLETED_IN_ORDER[missing]}`)
  }
}
