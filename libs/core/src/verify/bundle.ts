/** Verifies an audit bundle. docs/formats.md section 16. */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { TransparencyLogEntry } from "@runseal/log/entries/log-entry"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { shownApprovals } from "../artifacts/approvals.ts"
import { type Anchors, type Bundle, type BundleBody, type RunFacts, receiptOf } from "../artifacts/bundle-schema.ts"
import { isShown, WITHHOLDABLE_NAMES } from "../artifacts/declared-sections.ts"
import { explainReceipt } from "../artifacts/explanation.ts"
import type { Manifest, PartialManifest } from "../artifacts/manifest.ts"
import { refusalSentence } from "../artifacts/outcome-sentence.ts"
import type { BudgetWindow, SealedSections } from "../artifacts/sealed-sections.ts"
import type { SectionName } from "../artifacts/sections.ts"
import { expand, reduce } from "../derivation/derive.ts"
import { derivedNames } from "../derivation/v2/derive-sections.ts"
import { unrepeatableKernels } from "../derivation/v2/run-kernels.ts"
import { isCloseRecord, sectionsUntil } from "../derivation/v2/transcript.ts"
import { preAnchorSections } from "../formulas/leaves.ts"
import { bundleHash, executionManifest, partialManifest } from "../formulas/manifest-sections.ts"
import { decisionClock } from "../formulas/moment.ts"
import { isSealOf, manifestHash } from "../formulas/seal.ts"
import { isRefused, KERNELS, OUTCOMES, type OutcomeKind, RECEIPT_KEYS, withMark } from "../vocabulary/outcomes.ts"
import { FAILING_STEPS, faultSentences } from "../vocabulary/stage-faults.ts"
import { checkAnchor, checkReceiptAnchor, chooseTrust, passedFirstAnchor } from "./anchor-check.ts"
import { SLOTS, type SlottedAnchor, slotted } from "./anchor-slots.ts"
import { type BundleForms, isBundle, parseForms } from "./bundle-forms.ts"
import type { ChainDocument, ChainMovement } from "./chain-document.ts"
import { checkDecisions, isLogged } from "./decisions.ts"
import { evidenceSummary } from "./evidence-summary.ts"
import { collectFindings, conclude, type ExaminedBundle, type Findings, type PassedChecks } from "./examination.ts"
import { kindOf } from "./kind.ts"
import { checkDerived, checkLinks, checkSectionHashes, checkView, intactSections } from "./links.ts"
import { checkOutside, outsideFacts, outsideLimitations, passedOutside } from "./outside.ts"
import { bundleFacts, isOutputUnseen } from "./record-facts.ts"
import { checkPlaces } from "./record-places.ts"
import {
  absent,
  type Check,
  type CheckId,
  type Limitation,
  type LimitationCode,
  limitation,
  type Report,
  VERDICTS,
  type Verdict,
} from "./report.ts"
import { runAccount } from "./run-account.ts"
import { hasPasskeys, UNCHECKED_PASSKEYS } from "./signed-approvals.ts"
import { refusalBeforeFailure, refusingGate } from "./stage-error.ts"
import { checkWitnessed, passedWitnessed, witnessedLimitation } from "./witnessed.ts"

// The members and sections that a bundle of each outcome has. docs/formats.md section 9.

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
function checkMembers({ sealed, findings }: ExaminedBundle): void {
  const members = membersOf(sealed.run.outcome_kind)
  for (const name of ALL_MEMBERS) {
    const wanted = members.includes(name)
    const problem = `${name} ${wanted ? "is missing" : "does not belong here"}`
    findings.require("shape", (sealed[name] !== undefined) === wanted, problem)
  }
}

/** Sections of runs with an end user, of those whose route an act table names, of those that were to be approved, and of those in which a signature matched. */
const WHERE_THERE_IS_ONE: readonly string[] = ["end_user", "act", "approvals", "mcd_finding"]

/** Checks that every section is held or named exactly when it belongs to the outcome. */
function checkSectionPresence({ sealed, bundle, findings }: ExaminedBundle): void {
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

/** The whole of a bundle's verification: every check runs, none is skipped after a failure. */
const CHECKS: readonly ((examined: ExaminedBundle) => void)[] = [
  checkMembers,
  checkRunFacts,
  checkSectionPresence,
  checkSectionHashes,
  checkLinks,
  checkDerived,
  checkView,
  checkDecisions,
  checkManifest,
  checkFirstAnchor,
  checkBundleHash,
  checkCompleteRecord,
  checkPlaces,
  checkOutside,
  checkWitnessed,
]

/** The anchors of a record in the service's own log. */
export const bundleAnchors = ({ anchors }: Bundle): readonly SlottedAnchor[] => slotted(anchors)

export const BUNDLE = /* @__PURE__ */ kindOf<BundleForms>({
  document: "bundle",
  title: "Audit bundle",
  genuine: "The record is genuine.",
  verdict: "complete",
  recognizes: isBundle,
  parse: parseForms,
  verify: verifyForms,
  anchors: ({ bundle }) => bundleAnchors(bundle),
  evidence: ({ bundle }) => evidenceSummary(bundle),
  named: forms => ({ forms }),
  inChain: { counted: "records", document: ({ bundle }) => recordInChain(bundle) },
})

/** As the comparisons of an export see it. */
export function recordInChain(bundle: Bundle): ChainDocument {
  const { run, anchors, sections } = bundle
  const { budget_snapshot: budget, permit } = sections
  return {
    anchor: anchors.complete_record,
    firstEntry: (anchors.pre_anchor ?? anchors.receipt)?.entry,
    clock: run.created_at,
    run_id: run.run_id,
    brief: `run ${run.run_id}`,
    long: `record ${anchors.complete_record?.leaf.tenant_ordinal} (run ${run.run_id})`,
    redemptions: redemptionsOf(bundle),
    decided: bundle,
    movements: movementsOf(budget?.window),
    // The limits of a close are its opening's.
    ...(permit === undefined
      ? { budget: { run_limit: budget?.run_limit, window: budget?.window } }
      : { closes: bundle }),
  }
}

/** What a run moved: its charge, or at a close what settles its opening's reservation and what goes beyond that. */
function movementsOf(window: BudgetWindow | undefined): readonly ChainMovement[] {
  if (window?.ordinal === undefined) return []
  const { ordinal, tokens, reserved, total_after } = window
  if (reserved === undefined) return [[window, { kind: "charge", ordinal, tokens, total_after }]]
  const beyond = tokens - reserved
  if (beyond <= 0) return [[window, { kind: "settle", ordinal, tokens: beyond, total_after }]]
  return [
    [window, { kind: "settle", ordinal: ordinal - 1, tokens: 0, total_after: total_after - beyond }],
    [window, { kind: "charge", ordinal, tokens: beyond, total_after }],
  ]
}

const redemptionsOf = ({ sections: { permit } }: Bundle): readonly TransparencyLogEntry[] =>
  permit?.redemption === undefined ? [] : [permit.redemption.entry]

/** Verifies a record in its full form, whose shape is known to be right. Never throws. */
export function verifyBundle(view: Bundle, trusts: readonly TrustedKeys[]): Report {
  const sealed = reduce(view)
  return verifyForms({ sealed, bundle: expand(sealed), view }, trusts)
}

/**
 * Verifies a record whose shape is known to be right, against keys from outside it. Never throws.
 * @param known texts of its parts, where it was read from its canonical text
 */
export function verifyForms(
  { sealed, bundle, view }: BundleForms,
  trusts: readonly TrustedKeys[],
  known?: KnownTexts,
): Report {
  const { run, anchors } = bundle
  const own = bundleAnchors(bundle)
  const [first] = own
  const receipt = receiptOf(bundle)?.receipt
  const explanation = receipt && explainReceipt(receipt, bundle.sections)
  // One trust document, chosen by the first anchor, for every anchor of the record.
  const trust = first && chooseTrust(first.anchor.entry, trusts)
  const intact = intactSections(sealed.sections, known)
  const examined = { sealed, bundle, view, intact, trust, known, findings: collectFindings() }
  for (const check of CHECKS) check(examined)
  return conclude(examined, {
    document: "bundle",
    good: goodVerdict(bundle),
    passed: passedChecks(bundle, trust),
    statement: statementOf(bundle),
    clock: run.created_at,
    run_id: run.run_id,
    outcome_kind: run.outcome_kind,
    facts: bundleFacts(bundle),
    account: runAccount(bundle, explanation),
    ...(explanation === undefined ? {} : { explanation }),
    withheld: withheldNames(bundle),
    limitations: limitationsOf(bundle, trust),
    anchors: own,
    redemptions: redemptionsOf(bundle),
    outside: outsideFacts(anchors, trust),
  })
}

function checkRunFacts({ sealed: { run, anchors, sections }, findings }: ExaminedBundle): void {
  const { outcome_kind: outcome } = run
  checkRunEnd(run, sections, findings)
  const expected = (anchors.pre_anchor ?? anchors.receipt)?.leaf.leaf_version
  findings.require("shape", run.leaf_version === expected, "leaf_version is not that of the record's first anchor")
  findings.require("shape", anchors.pre_anchor === undefined || outcome === "ok", "only an ok run has a pre-anchor")
  const mayHaveReceipt = anchors.receipt === undefined || isRefused(outcome)
  findings.require("shape", mayHaveReceipt, "only a refused run has a receipt anchor")
}

/** How the run ended. Only the operator knows how a stage failed, and may choose among closed sentences. */
function checkRunEnd(
  { outcome_kind: outcome, error_stage: stage, error_message: message }: RunFacts,
  sections: SealedSections,
  findings: Findings,
): void {
  if (outcome === "stage_error") {
    const failed = FAILING_STEPS.find(name => name === stage)
    if (failed === undefined) findings.fail("shape", "no step that can fail is named as failed")
    else {
      const closed = message !== undefined && faultSentences(failed).includes(message)
      findings.require("shape", closed, "error_message is not one of the sentences on that step")
    }
    return
  }
  const { error_stage } = OUTCOMES[outcome]
  findings.require("shape", (stage ?? "") === error_stage, "error_stage does not fit the outcome")
  const expected = outcome === "ok" ? undefined : refusalSentence(outcome, sections)
  findings.require("shape", message === expected, "error_message is not the outcome's sentence")
}

function checkManifest({ bundle, known, findings }: ExaminedBundle): void {
  const { manifest, partial_manifest: partial } = bundle
  for (const [sealed, rebuilt] of [
    [manifest, manifest && wholeManifest(bundle, manifest)],
    [partial, partial && refusedManifest(bundle, partial)],
  ] as const) {
    if (sealed === undefined) continue
    const intact = manifestHash(sealed, known) === sealed.ManifestHash
    findings.require("manifest", intact, "the manifest does not match its hash")
    const same = rebuilt !== undefined && isSealOf(sealed, rebuilt, intact, "ManifestHash")
    findings.require("manifest", same, "a manifest field differs from its section")
  }
  const isClaimed = manifest === undefined || manifest.IndependentVerified
  findings.require("manifest", isClaimed, "the manifest does not claim its own verification")
}

/** The manifest that the sections of an ok run give; undefined when one is missing. */
function wholeManifest(
  { sections, allow_token: token }: Bundle,
  { IndependentVerified }: Manifest,
): JsonObject | undefined {
  const { pote_proof, registry, final_vfa } = sections
  const before = preAnchorSections(sections)
  const whole = before && pote_proof && registry && final_vfa && { ...before, pote_proof, registry, final_vfa }
  return whole && token && executionManifest(whole, token, IndependentVerified)
}

/** The manifest that the sections of a run which a gate stopped give; undefined when one is missing. */
function refusedManifest(bundle: Bundle, { PolicyHash }: PartialManifest): JsonObject | undefined {
  const { sections, allow_token: token, run } = bundle
  const { envelope, transport, policy_evaluation: evaluation } = sections
  const { marker } = OUTCOMES[run.outcome_kind]
  const parts = envelope && transport && { ...sections, envelope, transport }
  const found = receiptOf(bundle)
  const policyHash = evaluation?.policy_hash ?? PolicyHash
  return parts && marker && found && partialManifest(parts, policyHash, marker, found.receipt, token)
}

function checkFirstAnchor(examined: ExaminedBundle): void {
  const { sealed, bundle, findings } = examined
  const { run, anchors, sections } = bundle
  const { envelope } = sections
  const clock = envelope === undefined ? run.created_at : decisionClock({ ...sections, envelope })
  for (const slot of SLOTS) {
    const given = (sealed.anchors[slot] === undefined) === (anchors[slot] === undefined)
    findings.require("leaf", given, `the record does not give the leaf of its ${slot}`)
  }
  const found = receiptOf(bundle)
  if (found !== undefined) checkReceiptAnchor(anchors.receipt, found.receipt, { run_id: run.run_id, clock }, examined)
  if (run.outcome_kind !== "ok") return
  const anchor = anchors.pre_anchor
  if (anchor === undefined) {
    findings.fail("entry", "the manifest names a log entry and the bundle carries none")
    return
  }
  checkAnchor(anchor, { leaf: undefined, clock }, examined)
}

function checkBundleHash({ sealed, known, findings }: ExaminedBundle): void {
  const intact = bundleHash(sealed, known) === sealed.bundle_hash
  findings.require("bundle_hash", intact, "the bundle does not match its hash")
}

function checkCompleteRecord(examined: ExaminedBundle): void {
  const { bundle, findings } = examined
  const { anchors, run } = bundle
  const anchor = anchors.complete_record
  if (anchor === undefined) {
    // A v5 leaf binds every section of its run. A receipt binds little of its record, so its anchor alone is not enough.
    const old = run.leaf_version === "vfa.leaf.v5"
    const unanchored = isRefused(run.outcome_kind) && anchors.receipt === undefined
    findings.require(
      "complete_record",
      old || unanchored,
      "the record requires its complete-record anchor and has none",
    )
    return
  }
  checkAnchor(anchor, { leaf: undefined, clock: run.created_at, reportedAs: "complete_record" }, examined)
}

/** The verdict when no check fails. */
function goodVerdict({ anchors: { pre_anchor, receipt, complete_record } }: Bundle): Verdict {
  if (complete_record !== undefined) return VERDICTS.complete
  return (pre_anchor ?? receipt) === undefined ? VERDICTS.unanchored : VERDICTS.anchored
}

/** What happened instead of a completed run, in a sentence. */
function statementOf(bundle: Bundle): string | undefined {
  const { outcome_kind: outcome, error_stage: stage } = bundle.run
  if (outcome === "ok") return undefined
  const sentence = withMark(OUTCOMES[outcome].sentence, bundle.sections.envelope)
  if (outcome !== "stage_error") return sentence
  return `${sentence} ${refusalBeforeFailure(bundle) ?? `Failed stage: ${stage ?? "unknown"}.`}`
}

// What the report of a bundle says: of each check that passed, and of what no check can know. docs/formats.md section 16.

/** Sections of which the bundle has only the hash. */
const withheldNames = ({ sections }: Bundle): Report["withheld"] =>
  WITHHOLDABLE_NAMES.filter(name => "withheld" in (sections[name] ?? {}))

/** What the report says of each check when nothing is wrong. */
function passedChecks(bundle: Bundle, trust: TrustedKeys | undefined): PassedChecks {
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
function passedDecision({ sections, attestation_gap_receipt: gap, anchors }: Bundle): Check | string {
  if (sections.policy_evaluation === undefined && gap === undefined)
    return absent("decision", "no decision was reached")
  const { request_substance, attested_context, budget_snapshot, closing } = sections
  const countsHidden = !isShown(request_substance) || (closing !== undefined && !isShown(closing))
  const approvals = sections.approvals && shownApprovals(sections.approvals)
  const isUnchecked = approvals !== undefined && hasPasskeys(approvals) && !isLogged({ anchors })
  const unchecked = isUnchecked ? `; ${UNCHECKED_PASSKEYS}` : ""
  if (budget_snapshot !== undefined && countsHidden)
    return withheld(
      "decision",
      `the decision follows from its sections; the declared token count is withheld${unchecked}`,
    )
  if (gap !== undefined && !isShown(attested_context))
    return withheld("decision", `the receipt names the missing fields; the attested context is withheld${unchecked}`)
  return `decision, budget and review follow from their sections${unchecked}`
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
function limitationsOf(bundle: Bundle, trust: TrustedKeys | undefined): readonly Limitation[] {
  const { sections, anchors } = bundle
  const review = sections.governance_review
  const reviewed = review?.ai_output_hash !== undefined
  const complete = anchors.complete_record !== undefined
  const first = anchors.pre_anchor ?? anchors.receipt
  return [
    ...(first !== undefined || complete ? logLimitations(anchors, trust).map(limitation) : []),
    limitation("declared_content"),
    ...(sections.end_user === undefined ? [] : [limitation("stated_end_user")]),
    ...(sections.approvals === undefined ? [] : [limitation("stated_approvals")]),
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
