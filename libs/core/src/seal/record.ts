/** Finishes one record: stages 7–9, manifest, bundle. docs/formats.md sections 4, 6 and 9. */
import type { WrittenTexts } from "@runseal/canonical"
import type { Anchor, PreAnchorLeaf, ReceiptLeaf } from "../artifacts/anchor.ts"
import type { Anchors, BundleBody, RunFacts } from "../artifacts/bundle-schema.ts"
import { refusalSentence } from "../artifacts/outcome-sentence.ts"
import type { AllowToken } from "../artifacts/sealed-artifacts.ts"
import type { Sections } from "../artifacts/sections.ts"
import { type PreAnchorSections, preAnchorLeaf, preAnchorSections, receiptLeaf } from "../formulas/leaves.ts"
import { type CompletedSections, executionManifest, partialManifest } from "../formulas/manifest-sections.ts"
import { sealManifest } from "../formulas/seal.ts"
import { isRefused, OUTCOMES } from "../vocabulary/outcomes.ts"
import { RECORD_UNVERIFIED } from "../vocabulary/stage-faults.ts"
import { BUNDLE_VIEW_KIND, FORMULA_VERSION } from "../vocabulary/versions.ts"
import type { Draft } from "./draft.ts"
import { type RunStage, StageFailure, type StageFault, stagesOf, type Watch } from "./stage-failure.ts"
import { dla, ledger, registry } from "./stages.ts"

/** The leaf a draft anchors before its record is finished; a stage_error has none. */
export function firstLeaf(draft: Draft, runId: number): PreAnchorLeaf | ReceiptLeaf | undefined {
  if (draft.receipt !== undefined) return receiptLeaf("vfa.receipt_anchor.v2", draft.receipt.receipt, runId)
  const before = preAnchorSections(draft.sections)
  if (draft.outcome_kind !== "ok" || before === undefined || draft.allow_token === undefined) return undefined
  return preAnchorLeaf("vfa.leaf.v7", before, draft.allow_token)
}

type RecordPlace = { readonly run_id: number; readonly tenant_salt: string }

function runFacts(
  draft: Draft,
  place: RecordPlace,
  leafVersion: RunFacts["leaf_version"],
  { monotonicMs }: Watch,
): RunFacts {
  const { outcome_kind, fault, tenant } = draft
  const stage = fault?.stage ?? OUTCOMES[outcome_kind].error_stage
  const message =
    fault?.message ??
    (isRefused(outcome_kind) ? refusalSentence(outcome_kind, draft.sections) : OUTCOMES[outcome_kind].sentence)
  return {
    run_id: place.run_id,
    outcome_kind,
    ...(stage === "" ? {} : { error_stage: stage, error_message: message }),
    tenant_id: tenant.tenant_id,
    tenant_salt: place.tenant_salt,
    program_id: draft.program_id,
    route_id: draft.route_id,
    execution_region: draft.execution_region,
    created_at: draft.moment.at,
    duration_us: Math.round((monotonicMs() - draft.started_ms) * 1000),
    formula_version: FORMULA_VERSION,
    derivation: "vfa.derivation.v2",
    ...(leafVersion === undefined ? {} : { leaf_version: leafVersion }),
  }
}

export type FirstAnchor = Anchor<PreAnchorLeaf | ReceiptLeaf>

const isReceiptAnchor = (anchor: FirstAnchor): anchor is Anchor<ReceiptLeaf> => "receipt_hash" in anchor.leaf
const isPreAnchor = (anchor: FirstAnchor): anchor is Anchor<PreAnchorLeaf> => "envelope_id" in anchor.leaf

/**
 * The record without its bundle hash and complete-record anchor. Its manifest says IndependentVerified, which is true of every
 * stored record: a record is stored only after the verifier has accepted its text.
 * @throws StageFailure when a stage fails
 */
export function finishRecord(
  draft: Draft,
  place: RecordPlace,
  anchor: FirstAnchor | undefined,
  watch: Watch,
): BundleBody {
  const run = runFacts(draft, place, anchor?.leaf.leaf_version, watch)
  const base = { kind: BUNDLE_VIEW_KIND, run, sections: draft.sections } as const
  const token = draft.allow_token === undefined ? {} : { allow_token: draft.allow_token }
  if (draft.receipt !== undefined && anchor !== undefined && isReceiptAnchor(anchor))
    return { ...base, ...token, ...refusal(draft, draft.receipt), anchors: { receipt: anchor } }
  if (draft.outcome_kind === "ok" && anchor !== undefined && isPreAnchor(anchor)) {
    return completed(draft, { ...base, ...token, anchors: { pre_anchor: anchor } }, anchor, watch)
  }
  return { ...base, anchors: {} }
}

type Refusal = Pick<BundleBody, "partial_manifest"> & Partial<Pick<BundleBody, NonNullable<Draft["receipt"]>["key"]>>

function refusal(draft: Draft, { key, receipt }: NonNullable<Draft["receipt"]>): Refusal {
  const { marker } = OUTCOMES[draft.outcome_kind]
  const { envelope, transport, policy_evaluation } = draft.sections
  if (marker === undefined || !envelope || !transport || !policy_evaluation) return { [key]: receipt }
  const sections = { ...draft.sections, envelope, transport }
  const partial = partialManifest(sections, policy_evaluation.policy_hash, marker, receipt, draft.allow_token)
  return { partial_manifest: sealManifest(partial), [key]: receipt }
}

/** The failure of a record that the service's own verifier refuses. @param cause only for the operator's log */
export const unverified = (cause: string): StageFailure =>
  new StageFailure({ stage: "DLA", message: RECORD_UNVERIFIED }, new Error(cause))

type OkBase = BundleBody & { readonly anchors: Anchors }

function completed(draft: Draft, base: OkBase, anchor: Anchor<PreAnchorLeaf>, watch: Watch): BundleBody {
  const before = preAnchorSections(draft.sections)
  const token = draft.allow_token
  if (before === undefined || token === undefined) throw new Error("an ok draft has every section of its leaf")
  const { texts } = draft
  const sections = runAfterLog({ ...draft.sections, ...before }, token, anchor, texts, stagesOf(watch, texts))
  return { ...base, sections, manifest: sealManifest(executionManifest(sections, token, true)) }
}

/**
 * Stages 7–9, once the run's pre-anchor leaf is in the log.
 * @param texts of the run
 */
function runAfterLog(
  sections: PreAnchorSections & Sections,
  token: AllowToken,
  anchor: Anchor<PreAnchorLeaf>,
  texts: WrittenTexts,
  stage: RunStage,
): CompletedSections & Sections {
  const pote_proof = stage("LEDGER", () => texts.seal(ledger(anchor, texts)))
  const logged = { ...sections, pote_proof }
  const list = stage("REGISTRY", () => texts.seal(registry(sections.envelope, logged, token)))
  const listed = { ...logged, registry: list }
  const final_vfa = stage("DLA", () => texts.seal(dla(sections.envelope, list)))
  return { ...listed, final_vfa }
}

/** The draft as a stage_error of a stage after the log: with what was admitted, without what was decided later. */
export function asStageError(draft: Draft, fault: StageFault): Draft {
  const { allow_token: _token, receipt: _receipt, ...rest } = draft
  const { transcript: _transcript, ...sections }: Sections = draft.sections
  return { ...rest, outcome_kind: "stage_error", sections, fault }
}
