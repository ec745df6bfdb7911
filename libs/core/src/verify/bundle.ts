/** Verifies an audit bundle. docs/formats.md section 16. */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Bundle, RunFacts, SealedBundle } from "../artifacts/bundle-schema.ts"
import { receiptOf } from "../artifacts/bundle-schema.ts"
import { explainReceipt } from "../artifacts/explanation.ts"
import type { Manifest, PartialManifest } from "../artifacts/manifest.ts"
import { refusalSentence } from "../artifacts/outcome-sentence.ts"
import type { SealedSections } from "../artifacts/sealed-sections.ts"
import { expand, reduce } from "../derivation/derive.ts"
import { preAnchorSections } from "../formulas/leaves.ts"
import { bundleHash, executionManifest, partialManifest } from "../formulas/manifest-sections.ts"
import { decisionClock } from "../formulas/moment.ts"
import { isSealOf, manifestHash } from "../formulas/seal.ts"
import { isRefused, OUTCOMES, withMark } from "../vocabulary/outcomes.ts"
import { FAILING_STEPS, faultSentences } from "../vocabulary/stage-faults.ts"
import { checkAnchor, checkReceiptAnchor, chooseTrust } from "./anchor-check.ts"
import { SLOTS, type SlottedAnchor, slotted } from "./anchor-slots.ts"
import { limitationsOf, passedChecks, withheldNames } from "./bundle-account.ts"
import { redemptionEntries } from "./chain-document.ts"
import { checkDecisions } from "./decisions.ts"
import { collectFindings, conclude, type ExaminedBundle, type Findings } from "./examination.ts"
import { checkMembers, checkSectionPresence } from "./expectations.ts"
import { checkDerived, checkLinks, checkSectionHashes, checkView, intactSections } from "./links.ts"
import { checkOutside, outsideFacts } from "./outside.ts"
import { bundleFacts } from "./record-facts.ts"
import { checkPlaces } from "./record-places.ts"
import { type Report, VERDICTS, type Verdict } from "./report.ts"
import { refusalBeforeFailure } from "./stage-error.ts"
import { checkWitnessed } from "./witnessed.ts"

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

/** A record in its two forms. */
export type BundleForms = {
  /** As it is sealed, stored and served. */
  readonly sealed: SealedBundle
  /** In full, as the sealed form gives it. */
  readonly bundle: Bundle
  /** In full as a document states it, where the document is the full form. */
  readonly view?: Bundle | undefined
}

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
    ...(receipt === undefined ? {} : { explanation: explainReceipt(receipt, bundle.sections) }),
    withheld: withheldNames(bundle),
    limitations: limitationsOf(bundle, trust),
    anchors: own,
    redemptions: redemptionEntries({ kind: "record", value: bundle }),
    outside: outsideFacts(anchors, trust),
  })
}

/** The anchors of a record in the service's own log, in the order in which they were made. */
export const bundleAnchors = ({ anchors }: Bundle): readonly SlottedAnchor[] => slotted(anchors)

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
