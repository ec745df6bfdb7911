/** The sentence with which a refused run is answered and sealed. */
import { MCD_REASON_CODE } from "../vocabulary/decision-codes.ts"
import { matchSentence, OUTCOMES, type RefusedKind } from "../vocabulary/outcomes.ts"
import type { Sections } from "./sections.ts"

/** That of the table of outcomes; of a denial by a signature, one that names the signature and the place of the text that matched. */
export function refusalSentence(
  outcome: RefusedKind,
  { mcd_finding: finding, policy_evaluation: evaluation }: Pick<Sections, "mcd_finding" | "policy_evaluation">,
): string {
  const denied = outcome === "pepg_deny" && evaluation?.decision_reason_code === MCD_REASON_CODE
  return denied && finding !== undefined
    ? matchSentence(finding.matched_signature_id, finding.matched_in)
    : OUTCOMES[outcome].sentence
}
