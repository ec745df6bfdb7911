/** Verifies an audit bundle: every check runs, none is skipped after a failure. docs/formats.md section 16. */
import type { JsonObject, KnownTexts } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Anchor } from "../artifacts/anchor.ts"
import type { Bundle, BundleBody, RunFacts } from "../artifacts/bundle-schema.ts"
import { receiptOf } from "../artifacts/bundle-schema.ts"
import { tenantCommitment } from "../formulas/decision.ts"
import { completeRecordLeaf, preAnchorLeaf, preAnchorSections, receiptLeaf, recordSeal } from "../formulas/leaves.ts"
import { bundleHash, executionManifest, partialManifest } from "../formulas/manifest-sections.ts"
import { isSealOf, manifestHash } from "../formulas/seal.ts"
import { buildTranscript } from "../formulas/steps.ts"
import { isRefused, OUTCOMES } from "../vocabulary/outcomes.ts"
import { FAILING_STEPS, faultSentences } from "../vocabulary/stage-faults.ts"
import { COMPLETE_RECORD_IDS, checkAnchor, chooseTrust, FIRST_ANCHOR_IDS } from "./anchor-check.ts"
import { limitationsOf, passedChecks, withheldNames } from "./bundle-account.ts"
import { checkDecisions } from "./decisions.ts"
import { checkMembers, checkSectionPresence } from "./expectations.ts"
import { withKeyNotes } from "./key-notes.ts"
import { checkLinks, checkSectionHashes } from "./links.ts"
import { checkOutside, outsideFacts } from "./outside.ts"
import { checkPlaces } from "./record-places.ts"
import type { AnchorFacts, Check, CheckId, Findings, Report, Verdict } from "./report.ts"
import { collectFindings, VERDICTS } from "./report.ts"
import { refusalBeforeFailure } from "./stage-error.ts"
import { traceViolations } from "./trace.ts"

/**
 * Verifies a bundle whose shape is known to be right, against keys from outside it. Never throws.
 * @param known where its parts stand in the canonical text it was read from
 */
export function verifyBundle(bundle: Bundle, trusts: readonly TrustedKeys[], known?: KnownTexts): Report {
  const findings = collectFindings()
  const { run, anchors } = bundle
  // Every anchor of the record is held to one trust.
  const trust = trustOf(anchors.pre_anchor ?? anchors.receipt ?? anchors.complete_record, trusts)
  checkMembers(bundle, findings)
  checkRunFacts(bundle, findings)
  checkSectionPresence(bundle, findings)
  const intact = checkSectionHashes(bundle.sections, findings, known)
  checkLinks(bundle, intact, findings, known)
  checkDecisions(bundle, findings, known)
  checkManifest(bundle, findings, known)
  checkTranscript(bundle, intact, findings)
  checkFirstAnchor(bundle, trust, findings, known)
  findings.require(
    "bundle_hash",
    bundleHash(bundle, known) === bundle.bundle_hash,
    "the bundle does not match its hash",
  )
  checkCompleteRecord(bundle, trust, findings, known)
  checkPlaces(anchors, findings)
  checkOutside(bundle, trust, findings)
  const checks = findings.checks(passedChecks(bundle))
  const first = anchors.pre_anchor ?? anchors.receipt
  const report: Report = {
    document: "bundle",
    ...outcomeOf(checks, first !== undefined, anchors.complete_record !== undefined),
    checks,
    ...(run.outcome_kind === "ok" ? {} : { statement: statementOf(bundle) }),
    ...(trust === undefined ? {} : { service: trust.service }),
    clock: run.created_at,
    run_id: run.run_id,
    outcome_kind: run.outcome_kind,
    withheld: withheldNames(bundle),
    limitations: limitationsOf(bundle),
    anchors: [
      ...bundleAnchors(bundle).map(({ slot, anchor }) => anchorFact(slot, anchor)),
      ...outsideFacts(anchors, trust),
    ],
  }
  return withKeyNotes(
    report,
    bundleAnchors(bundle).map(({ anchor }) => anchor),
    trust,
  )
}

const trustOf = (anchor: Anchor | undefined, trusts: readonly TrustedKeys[]): TrustedKeys | undefined =>
  anchor === undefined ? undefined : chooseTrust(anchor.entry, trusts)

function checkRunFacts({ run, anchors }: BundleBody, findings: Findings): void {
  const { outcome_kind: outcome } = run
  checkRunEnd(run, findings)
  const leaf = (anchors.pre_anchor ?? anchors.receipt)?.leaf
  const expected = leaf?.leaf_version
  findings.require("shape", run.leaf_version === expected, "leaf_version is not that of the record's first anchor")
  findings.require("shape", anchors.pre_anchor === undefined || outcome === "ok", "only an ok run has a pre-anchor")
  findings.require(
    "shape",
    anchors.receipt === undefined || isRefused(outcome),
    "only a refused run has a receipt anchor",
  )
}

/** How the run ended. That of a stage_error is the operator's word, in closed sentences. */
function checkRunEnd(
  { outcome_kind: outcome, error_stage: stage, error_message: message }: RunFacts,
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
  const { error_stage, sentence } = OUTCOMES[outcome]
  findings.require("shape", (stage ?? "") === error_stage, "error_stage does not fit the outcome")
  const said = outcome === "ok" ? undefined : sentence
  findings.require("shape", message === said, "error_message is not the outcome's sentence")
}

function checkManifest(bundle: Bundle, findings: Findings, known: KnownTexts | undefined): void {
  const { manifest, partial_manifest: partial, sections, allow_token: token, run } = bundle
  const sealed = manifest ?? partial
  if (sealed === undefined) return
  const intact = manifestHash(sealed, known) === sealed.ManifestHash
  findings.require("manifest", intact, "the manifest does not match its hash")
  const { envelope, transport, pote_proof, registry, final_vfa } = sections
  if (manifest !== undefined) {
    findings.require("manifest", manifest.IndependentVerified, "the manifest does not claim its own verification")
    const before = preAnchorSections(sections)
    const whole = before && pote_proof && registry && final_vfa && { ...before, pote_proof, registry, final_vfa }
    const rebuilt = whole && token && executionManifest(whole, token, manifest.IndependentVerified)
    const same = rebuilt !== undefined && isSealOf(manifest, rebuilt, intact, "ManifestHash")
    findings.require("manifest", same, "a manifest field differs from its section")
  }
  if (partial !== undefined) {
    const found = receiptOf(bundle)
    const { marker } = OUTCOMES[run.outcome_kind]
    const policyHash = sections.policy_evaluation?.policy_hash ?? partial.PolicyHash
    const parts = envelope && transport && { ...sections, envelope, transport }
    const rebuilt = parts && marker && found && partialManifest(parts, policyHash, marker, found.receipt, token)
    const same = rebuilt !== undefined && isSealOf(partial, rebuilt, intact, "ManifestHash")
    findings.require("manifest", same, "a manifest field differs from its section")
  }
}

function checkTranscript(bundle: BundleBody, intact: ReadonlySet<JsonObject>, findings: Findings): void {
  const { run, sections } = bundle
  const { transcript, envelope } = sections
  if (transcript === undefined || run.outcome_kind === "stage_error" || envelope === undefined) return
  for (const problem of traceViolations(transcript.events, run.outcome_kind)) findings.fail("transcript", problem)
  const rebuilt = buildTranscript(run.outcome_kind, bundle, receiptOf(bundle))
  const same = isSealOf(transcript, rebuilt, intact.has(transcript))
  findings.require("transcript", same, "the transcript is not the one these artifacts give")
}

function checkFirstAnchor(
  bundle: BundleBody,
  trust: TrustedKeys | undefined,
  findings: Findings,
  known: KnownTexts | undefined,
): void {
  const { run, anchors, sections, allow_token: token } = bundle
  const clock = sections.envelope?.admission_clock ?? run.created_at
  const ids = FIRST_ANCHOR_IDS
  if (run.outcome_kind === "ok") {
    const anchor = anchors.pre_anchor
    if (anchor === undefined) {
      findings.fail("entry", "the manifest names a log entry and the bundle carries none")
      return
    }
    const before = preAnchorSections(sections)
    const leaf = before && token && preAnchorLeaf(anchor.leaf.leaf_version, before, token)
    findings.require("leaf", leaf !== undefined, "the sections for the leaf are incomplete")
    checkAnchor(anchor, { leaf, clock, ids }, trust, findings, known)
  }
  const found = receiptOf(bundle)
  const anchor = anchors.receipt
  if (found === undefined) return
  if (anchor !== undefined)
    checkAnchor(
      anchor,
      { leaf: receiptLeaf(anchor.leaf.leaf_version, found.receipt, run.run_id), clock, ids },
      trust,
      findings,
      known,
    )
  else if (found.receipt.anchor_required === true)
    findings.fail("entry", "the receipt requires a log entry and has none; the refusal itself stands")
}

function checkCompleteRecord(
  bundle: Bundle,
  trust: TrustedKeys | undefined,
  findings: Findings,
  known: KnownTexts | undefined,
): void {
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
  const { tenant_ordinal, previous_record } = anchor.leaf
  const place = { tenant_commitment: tenantCommitment(run.tenant_id, run.tenant_salt), tenant_ordinal, previous_record }
  const leaf = completeRecordLeaf(run.run_id, bundle.bundle_hash, recordSeal(bundle), place)
  checkAnchor(anchor, { leaf, clock: run.created_at, ids: COMPLETE_RECORD_IDS }, trust, findings, known)
}

/** Verdict and first failure of a set of checks. */
function outcomeOf(
  checks: readonly Check[],
  anchored: boolean,
  complete: boolean,
): { readonly verdict: Verdict; readonly first_failure?: CheckId } {
  const failed = checks.find(check => check.result === "fail")
  if (failed !== undefined) return { verdict: VERDICTS.failed, first_failure: failed.id }
  if (complete) return { verdict: VERDICTS.complete }
  return { verdict: anchored ? VERDICTS.anchored : VERDICTS.unanchored }
}

function statementOf(bundle: Bundle): string {
  const { run } = bundle
  const { sentence } = OUTCOMES[run.outcome_kind]
  if (run.outcome_kind !== "stage_error") return sentence
  const refusal = refusalBeforeFailure(bundle)
  return `${sentence} ${refusal ?? `Failed stage: ${run.error_stage ?? "unknown"}.`}`
}

/** The anchors of a record in the service's own log, in the order in which they were made. */
export function bundleAnchors({ anchors }: Bundle): readonly SlottedAnchor[] {
  const { pre_anchor, receipt, complete_record } = anchors
  return [
    ...(pre_anchor === undefined ? [] : [{ slot: "pre_anchor", anchor: pre_anchor } as const]),
    ...(receipt === undefined ? [] : [{ slot: "receipt", anchor: receipt } as const]),
    ...(complete_record === undefined ? [] : [{ slot: "complete_record", anchor: complete_record } as const]),
  ]
}

/** An anchor and the place it takes in its document. */
export type SlottedAnchor = { readonly slot: AnchorFacts["slot"]; readonly anchor: Anchor }

/** Where an anchor stands in the log. */
export const anchorFact = (slot: AnchorFacts["slot"], { leaf, entry }: Anchor): AnchorFacts => ({
  slot,
  leaf_version: leaf.leaf_version,
  log_index: entry.logIndex,
  integrated_time: entry.integratedTime,
})
