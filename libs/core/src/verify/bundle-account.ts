/** What the report of a bundle says: of each check that passed, and of what no check can know. docs/formats.md section 16. */
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Anchors, Bundle } from "../artifacts/bundle-schema.ts"
import { isShown, WITHHOLDABLE_NAMES } from "../artifacts/declared-sections.ts"
import { unrepeatableKernels } from "../derivation/v2/run-kernels.ts"
import { KERNELS } from "../vocabulary/outcomes.ts"
import { passedFirstAnchor } from "./anchor-check.ts"
import type { PassedChecks } from "./examination.ts"
import { outsideLimitations, passedOutside } from "./outside.ts"
import { isOutputUnseen } from "./record-facts.ts"
import type { Check, CheckId, Limitation, LimitationCode, Report } from "./report.ts"
import { absent, limitation } from "./report.ts"
import { passedWitnessed, witnessedLimitation } from "./witnessed.ts"

/** Sections of which the bundle has only the hash. */
export const withheldNames = ({ sections }: Bundle): Report["withheld"] =>
  WITHHOLDABLE_NAMES.filter(name => "withheld" in (sections[name] ?? {}))

/** What the report says of each check when nothing is wrong. */
export function passedChecks(bundle: Bundle, trust: TrustedKeys | undefined): PassedChecks {
  const { sections, manifest, partial_manifest: partial, anchors } = bundle
  const outside = passedOutside(anchors)
  const witnessed = passedWitnessed(anchors, trust)
  return {
    shape: "kinds, fields and the parts of this outcome are as they must be",
    sections: passedSections(bundle),
    decision: passedDecision(bundle),
    manifest:
      manifest || partial
        ? "the manifest hash is right and every field is its section's"
        : absent("manifest", "this outcome has no manifest"),
    transcript: sections.transcript
      ? "the transcript is a path of the pipeline's state machine"
      : absent("transcript", "this outcome has no transcript"),
    executions: passedExecutions(bundle),
    ...passedFirstAnchor(anchors.pre_anchor ?? anchors.receipt, {
      source: "the sections",
      owner: "the record",
      none: NO_ANCHOR,
    }),
    bundle_hash: "the bundle hash covers the hashes of all parts",
    complete_record: anchors.complete_record
      ? `log entry ${anchors.complete_record.entry.logIndex} holds the whole record`
      : absent("complete_record", NO_ANCHOR),
    ...(outside === undefined ? {} : { outside }),
    ...(witnessed === undefined ? {} : { witnessed }),
  }
}

const NO_ANCHOR = "the record has no anchor of this kind"

const withheld = (id: CheckId, message: string): Check => ({ id, result: "withheld", message })

function passedSections(bundle: Bundle): Check | string {
  const count = Object.keys(bundle.sections).length
  const names = withheldNames(bundle)
  if (names.length === 0) return `${count} sections match their hashes and each other`
  return withheld("sections", `${count} sections match; withheld: ${names.join(", ")}`)
}

/** The declared token count is in request_substance, the attested fields are in attested_context. */
function passedDecision({ sections, attestation_gap_receipt: gap }: Bundle): Check | string {
  if (sections.policy_evaluation === undefined && gap === undefined)
    return absent("decision", "no decision was reached")
  const { request_substance, attested_context, budget_snapshot, closing } = sections
  const countsHidden = !isShown(request_substance) || (closing !== undefined && !isShown(closing))
  if (budget_snapshot !== undefined && countsHidden)
    return withheld("decision", "the decision follows from its sections; the declared token count is withheld")
  if (gap !== undefined && !isShown(attested_context))
    return withheld("decision", "the receipt names the missing fields; the attested context is withheld")
  return "decision, budget and review follow from their sections"
}

function passedExecutions({ sections }: Bundle): Check | string {
  const { efa, envelope } = sections
  if (efa === undefined || envelope === undefined) return absent("executions", "no kernel ran")
  const unrepeated = unrepeatableKernels({ ...sections, envelope })
  if (unrepeated.length === 0) return "the six kernels, run again, give what is recorded"
  const repeated = KERNELS.filter(kernel => !unrepeated.includes(kernel)).join(", ")
  return withheld(
    "executions",
    `run again, ${repeated} give what is recorded; ${unrepeated.join(", ")} read what is withheld and only their hashes were checked`,
  )
}

/** What is left open of the log: of a record that carries what witnesses signed, what that leaves open. */
function logLimitations(anchors: Anchors, trust: TrustedKeys | undefined): readonly LimitationCode[] {
  const witnessed = witnessedLimitation(anchors, trust)
  return outsideLimitations(anchors).map(code => (code === "operator_log" ? (witnessed ?? code) : code))
}

/** What was not verified and cannot be from the bundle alone. */
export function limitationsOf(bundle: Bundle, trust: TrustedKeys | undefined): readonly Limitation[] {
  const { sections, anchors } = bundle
  const review = sections.governance_review
  const reviewed = review?.ai_output_hash !== undefined
  const complete = anchors.complete_record !== undefined
  const first = anchors.pre_anchor ?? anchors.receipt
  return [
    ...(first !== undefined || complete ? logLimitations(anchors, trust).map(limitation) : []),
    limitation("declared_content"),
    ...(sections.permit === undefined ? [] : [limitation("reported_act"), limitation("opening_before_act")]),
    ...(complete ? [limitation("chain_tail")] : []),
    ...(first !== undefined && !complete ? [limitation("run_facts_not_bound")] : []),
    limitation("software_attestation"),
    ...(reviewed && review.adapter_id === "builtin-rules" ? [limitation("builtin_reviewer")] : []),
    ...(isOutputUnseen(sections) ? [limitation("output_not_reviewed")] : []),
    ...(reviewed && review.adapter_id === "none" ? [limitation("review_disabled")] : []),
    ...(sections.envelope?.enforcement === undefined ? [] : [limitation("observed_only")]),
    ...(withheldNames(bundle).length > 0 ? [limitation("withheld_section")] : []),
  ]
}
