/**
 * The Tier-4 governance review of AI output (AIVP-T4): request and result. A result is closed vocabulary and counts, never
 * prose: a reviewer's words may quote the text, which must not be stored.
 */
import type { ReviewAdapter, ReviewDecision, ReviewReasonCode } from "@runseal/core/vocabulary/review-codes"
import { REVIEW_FAILURE_SENTENCES, type ReviewFailureCode } from "@runseal/core/vocabulary/stage-faults"

export interface ReviewRequest {
  /** The raw text; it is sent to the reviewer and stored nowhere. */
  readonly ai_output_text: string
  readonly prompt_hash?: string | undefined
  readonly model_name?: string | undefined
  readonly route_id: string
  /** Declared `attested_context.decision_kind`: what the output decides about. */
  readonly decision_kind?: string | undefined
}

export interface ReviewResult {
  readonly decision_kind: ReviewDecision
  readonly decision_reason: ReviewReasonCode
  /** Rules that found something, sorted; each adapter's set is closed. */
  readonly rule_ids: readonly string[]
  readonly finding_count: number
}

export interface Reviewer {
  readonly adapter_id: ReviewAdapter
  readonly model?: string
  /** @throws ReviewFailure when there is no answer, or none that is a verdict; that is never a release. */
  review(request: ReviewRequest, signal: AbortSignal): Promise<ReviewResult>
}

/** A review without a result. Its sentence is one of a closed set and its status a number: it quotes nothing. */
export class ReviewFailure extends Error {
  override readonly name = "ReviewFailure"
  readonly code: ReviewFailureCode
  /** HTTP status of a `bad_status`. */
  readonly status?: number

  constructor(code: ReviewFailureCode, status?: number) {
    super(REVIEW_FAILURE_SENTENCES[code])
    this.code = code
    if (status !== undefined) this.status = status
  }
}

/** The reviewer of a deployment that reviews nothing; its record says so. */
export const noReview: Reviewer = {
  adapter_id: "none",
  review: async () => ({
    decision_kind: "release",
    decision_reason: "REVIEW_DISABLED",
    rule_ids: [],
    finding_count: 0,
  }),
}
