/** Gate AIVP_T4: the Tier-4 governance review of AI output. A reviewer that fails is never a release. */

import type { AllowToken } from "../../artifacts/sealed-artifacts.ts"
import type { GovernanceReviewSection } from "../../artifacts/sealed-sections.ts"
import { aivpT4HaltReceipt, governanceReviewSection, type ReviewFacts } from "../../formulas/decision.ts"
import type { DecidedRun } from "../../formulas/moment.ts"
import type { Seal } from "../../formulas/seal.ts"
import type { Decided, Stop } from "../draft.ts"

type AivpResult = { readonly pass: GovernanceReviewSection } | { readonly stop: Stop }

/** Asks for the review of a run's AI output; without AI output there is nothing to govern. */
export type AskReview = (run: Decided) => Promise<ReviewFacts>

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
