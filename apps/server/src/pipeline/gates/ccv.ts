/** Gate CCV: the per-run token budget, checked once at the post-DKEC boundary. */

import type { EfaSection } from "@runseal/core/artifacts/derived-sections"
import type { AllowToken } from "@runseal/core/artifacts/sealed-artifacts"
import type { BudgetSnapshotSection } from "@runseal/core/artifacts/sealed-sections"
import { ccvHaltReceipt } from "@runseal/core/formulas/decision"
import type { DecidedRun } from "@runseal/core/formulas/moment"
import type { Seal } from "@runseal/core/formulas/seal"
import type { Spending, Stop } from "../draft.ts"

/** @param budget makes the snapshot of a halted run: with the window of a close, which is settled all the same */
export function ccvGate(
  run: DecidedRun,
  token: AllowToken,
  efa: EfaSection,
  { tokens, run_limit }: Spending,
  budget: () => BudgetSnapshotSection,
  seal: Seal,
): Stop | undefined {
  if (tokens <= run_limit) return undefined
  const budget_snapshot = budget()
  const receipt = seal(ccvHaltReceipt(run, token, efa, budget_snapshot))
  return { outcome: "ccv_halt", key: "ccv_halt_receipt", receipt, sections: { budget_snapshot } }
}
