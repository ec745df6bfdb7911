/**
 * The Tier-4 governance review of AI output (AIVP-T4): request and result. A result is closed vocabulary and counts, never
 * prose: a reviewer's words may quote the text, which must not be stored.
 */
import type { Decided } from "@runseal/core/seal/draft"
import type { AskReview } from "@runseal/core/seal/gates/aivp-t4"
import { StageFailure } from "@runseal/core/seal/stage-failure"
import { textMember } from "@runseal/core/vocabulary/json-members"
import type { ReviewAdapter, ReviewDecision, ReviewReasonCode } from "@runseal/core/vocabulary/review-codes"
import { REVIEW_FAILED, REVIEW_FAILURE_SENTENCES, type ReviewFailureCode } from "@runseal/core/vocabulary/stage-faults"

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

const NOTHING_TO_GOVERN = "NO_AI_OUTPUT"

function reviewRequest({ declared, route_id }: Decided, output: string): ReviewRequest {
  const { attested_context: context } = declared
  return {
    ai_output_text: output,
    route_id,
    prompt_hash: textMember(context, "prompt_hash"),
    model_name: textMember(context, "model_name"),
    decision_kind: textMember(context, "decision_kind"),
  }
}

/** A review by one reviewer; its failure is a failure of the stage AIVP_T4. */
export const askReviewer =
  (reviewer: Reviewer, signal: AbortSignal): AskReview =>
  async run => {
    const names = {
      adapter_id: reviewer.adapter_id,
      ...(reviewer.model === undefined ? {} : { model: reviewer.model }),
    }
    const output = run.ai_output_text
    if (output === undefined)
      return { ...names, decision_kind: "release", decision_reason: NOTHING_TO_GOVERN, rule_ids: [], finding_count: 0 }
    try {
      return { ...names, ...(await reviewer.review(reviewRequest(run, output), signal)) }
    } catch (cause) {
      const message = cause instanceof ReviewFailure ? cause.message : REVIEW_FAILED
      throw new StageFailure({ stage: "AIVP_T4", message }, cause)
    }
  }
