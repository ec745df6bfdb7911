/** Gate AIVP_T4: the Tier-4 governance review of AI output. A reviewer that fails is never a release. */

import type { AllowToken } from "@runseal/core/artifacts/sealed-artifacts"
import type { GovernanceReviewSection } from "@runseal/core/artifacts/sealed-sections"
import type { ReviewFacts } from "@runseal/core/formulas/decision"
import { aivpT4HaltReceipt, governanceReviewSection } from "@runseal/core/formulas/decision"
import type { DecidedRun } from "@runseal/core/formulas/moment"
import type { Seal } from "@runseal/core/formulas/seal"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { REVIEW_FAILED } from "@runseal/core/vocabulary/stage-faults"
import type { Reviewer, ReviewRequest } from "../../review/reviewer.ts"
import { ReviewFailure } from "../../review/reviewer.ts"
import type { Decided, Stop } from "../draft.ts"
import { StageFailure } from "../stage-failure.ts"

type AivpResult = { readonly pass: GovernanceReviewSection } | { readonly stop: Stop }

/** Asks for the review of a run's AI output; without AI output there is nothing to govern. */
export type AskReview = (run: Decided) => Promise<ReviewFacts>

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

/** @param review of the run's AI output */
export function aivpT4Gate(
  run: DecidedRun,
  token: AllowToken,
  aiOutputHash: string | undefined,
  review: ReviewFacts,
  seal: Seal,
): AivpResult {
  const governance_review = seal(governanceReviewSection(run, review, aiOutputHash))
  const halt = aivpT4HaltReceipt(token, governance_review)
  if (halt === undefined) return { pass: governance_review }
  const receipt = seal(halt)
  return { stop: { outcome: "aivp_t4_halt", key: "aivp_t4_halt_receipt", receipt, sections: { governance_review } } }
}
