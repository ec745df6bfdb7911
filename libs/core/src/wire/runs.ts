/** Answers of the run endpoints. docs/api.md, "GET /runs", "GET /runs/{id}" and "GET /runs/{id}/verify". */
import type { Anchor, ReceiptLeaf, ServedReceiptAnchor } from "../artifacts/anchor.ts"
import type { DeclaredName } from "../artifacts/declared-sections.ts"
import type { Manifest, PartialManifest } from "../artifacts/manifest.ts"
import type { Check, Limitation, Verdict } from "../verify/report.ts"
import type { OutcomeKind } from "../vocabulary/outcomes.ts"

/** Most runs one page may ask for, and how many it gives unasked. */
export const PAGE_LIMIT_MAX = 500
export const PAGE_LIMIT_DEFAULT = 50

/** Formats of `GET /runs/{id}/report.pdf`, and the one that is made unasked. */
export const REPORT_FORMATS = ["brief", "auditor", "legal", "comprehensive"] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]
export const REPORT_FORMAT_DEFAULT: ReportFormat = "comprehensive"

export type RunSummary = {
  readonly id: number
  readonly created_at: string
  readonly program_id: string
  readonly route_id: string
  readonly manifest_hash: string
  readonly duration_ms: number
  readonly status: OutcomeKind
  readonly outcome_kind: OutcomeKind
  readonly error_stage: string
  readonly execution_region: string
}

export type RunsPage = {
  readonly ok: true
  readonly total: number
  readonly limit: number
  readonly offset: number
  readonly runs: readonly RunSummary[]
}

export type RunRecord = RunSummary & {
  readonly ok: true
  readonly payload_hash: string
  readonly duration_us: number
  readonly error_message: string
  readonly manifest?: Manifest
  readonly partial_manifest?: PartialManifest
}

export type VerifyAnswer = {
  readonly ok: true
  readonly verified: boolean
  readonly manifest_hash: string
  readonly recomputed_hash?: string
  readonly verification_at?: string
  readonly verification_kind?: "manifest-self-seal" | "receipt-self-seal"
  readonly formula_version?: string
  readonly dcae_engine_hint?: { readonly available_at: string; readonly engine_version: string }
  /** Why there is nothing to verify: a stage_error run has no manifest. */
  readonly reason?: string
}

/** Filters of `GET /runs/search`. */
export type RunFilters = {
  /** Prefix, lowercase hex. */
  readonly manifest_hash?: string
  readonly program_id?: string
  readonly route_id?: string
  readonly status?: OutcomeKind
  /** RFC 3339, included. */
  readonly from?: string
  /** RFC 3339, included. */
  readonly to?: string
}

export type DeterminismAnswer = {
  readonly ok: true
  readonly deterministic: boolean
  readonly first: { readonly manifest_hash: string }
  readonly second: { readonly manifest_hash: string }
  readonly diff: { readonly differs: boolean; readonly differing_fields: readonly string[] }
}

export type DcaeAnswer = {
  readonly ok: true
  readonly verified: boolean
  readonly verdict: Verdict
  readonly checks: readonly Check[]
  /** How the run ended, where the document is a run's. */
  readonly outcome_kind?: OutcomeKind
  /** What the record says happened, when that is not a completed run. */
  readonly statement?: string
  /** Declared sections whose content the document keeps back. */
  readonly withheld: readonly DeclaredName[]
  readonly limitations: readonly Limitation[]
  readonly engine_version: string
}

export type HealthAnswer = {
  readonly ok: true
  readonly service: string
  readonly version: string
  readonly orchestrator_version: string
  readonly orchestrator_git_sha: string
  readonly time: string
}

export type ErrorAnswer = { readonly ok: false; readonly error: string }

/** A receipt's anchor as its endpoint serves it. */
export const serveReceiptAnchor = (anchor: Anchor<ReceiptLeaf>): ServedReceiptAnchor => ({
  version: anchor.leaf.leaf_version,
  ...anchor,
})
