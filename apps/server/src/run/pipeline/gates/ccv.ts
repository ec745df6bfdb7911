/** Gate CCV: the per-run token budget, checked once at the post-DKEC boundary. */

import type { EfaSection } from "@runseal/core/artifacts/derived-sections"
import type { AllowToken } from "@runseal/core/artifacts/sealed-artifacts"
import type { EnvelopeSection } from "@runseal/core/artifacts/sealed-sections"
import { budgetSnapshotSection, ccvHaltReceipt } from "@runseal/core/formulas/decision"
import type { Seal } from "@runseal/core/formulas/seal"
import type { Stop } from "../draft.ts"

export function ccvGate(
  envelope: EnvelopeSection,
  token: AllowToken,
  efa: EfaSection,
  declaredTokens: number,
  runTokenBudget: number,
  seal: Seal,
): Stop | undefined {
  if (declaredTokens <= runTokenBudget) return undefined
  const budget_snapshot = seal(budgetSnapshotSection(envelope, runTokenBudget, declaredTokens, undefined))
  const receipt = seal(ccvHaltReceipt({ envelope }, token, efa, budget_snapshot))
  return { outcome: "ccv_halt", key: "ccv_halt_receipt", receipt, sections: { budget_snapshot } }
}
