/** Gate MACC: the tenant's cumulative budget per window. The charge is atomic and is never refunded, not even to the run that it halts. */

import type { AllowToken } from "@runseal/core/artifacts/sealed-artifacts"
import type { BudgetSnapshotSection, EnvelopeSection } from "@runseal/core/artifacts/sealed-sections"
import { budgetSnapshotSection, maccHaltReceipt, windowStart } from "@runseal/core/formulas/decision"
import { chargeId } from "@runseal/core/formulas/moment"
import type { Seal } from "@runseal/core/formulas/seal"
import { clockMillis } from "@runseal/core/vocabulary/scalars"
import type { Stop } from "../draft.ts"

export type Budgets = {
  readonly run_tokens: number
  readonly window_tokens: number
  readonly window_seconds: number
}

/** One charge of declared tokens to a tenant's window. */
export type Charge = {
  readonly charge_id: string
  readonly tenant_id: string
  readonly window_seconds: number
  /** Milliseconds since the epoch. */
  readonly window_start: number
  readonly tokens: number
  /** Milliseconds since the epoch. */
  readonly charged_at: number
}

/** Makes a charge atomically and returns the window's total after it. */
export type MakeCharge = (charge: Charge) => Promise<number>

type MaccResult = { readonly pass: BudgetSnapshotSection } | { readonly stop: Stop }

export async function maccGate(
  envelope: EnvelopeSection,
  token: AllowToken,
  declaredTokens: number,
  budgets: Budgets,
  makeCharge: MakeCharge,
  seal: Seal,
): Promise<MaccResult> {
  const at = clockMillis(envelope.admission_clock)
  if (at === undefined) throw new RangeError("the admission clock is not one of ours")
  const start = windowStart(at, budgets.window_seconds)
  const charge = {
    charge_id: chargeId(envelope.hash),
    window_seconds: budgets.window_seconds,
    tokens: declaredTokens,
  }
  const { tenant_id } = envelope
  const total_after = await makeCharge({ ...charge, tenant_id, window_start: start, charged_at: at })
  const window_start = new Date(start).toISOString()
  const window = { ...charge, cap: budgets.window_tokens, window_start, total_after }
  const budget_snapshot = seal(budgetSnapshotSection(envelope, budgets.run_tokens, declaredTokens, window))
  if (total_after < budgets.window_tokens) return { pass: budget_snapshot }
  const receipt = seal(maccHaltReceipt({ envelope }, token, budget_snapshot, window))
  return { stop: { outcome: "macc_halt", key: "macc_halt_receipt", receipt, sections: { budget_snapshot } } }
}
