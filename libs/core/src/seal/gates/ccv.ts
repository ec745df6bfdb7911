/** Gate CCV: the per-run token budget, checked once at the post-DKEC boundary. */

import type { EfaSection } from "../../artifacts/derived-sections.ts"
import type { AllowToken } from "../../artifacts/sealed-artifacts.ts"
import type { BudgetSnapshotSection } from "../../artifacts/sealed-sections.ts"
import { ccvHaltReceipt } from "../../formulas/decision.ts"
import type { DecidedRun } from "../../formulas/moment.ts"
import type { Seal } from "../../formulas/seal.ts"
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
