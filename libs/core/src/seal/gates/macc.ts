/**
 * Gate MACC: the tenant's cumulative budget per window. A charge is atomic and is never refunded, not even to the run that it halts. What
 * a permit reserved is settled at its close.
 */

import type { AllowToken } from "../../artifacts/sealed-artifacts.ts"
import type { BudgetSnapshotSection, BudgetWindow, EnvelopeSection } from "../../artifacts/sealed-sections.ts"
import { maccHaltReceipt, windowStart } from "../../formulas/decision.ts"
import { chargeId, type DecidedRun } from "../../formulas/moment.ts"
import type { Seal } from "../../formulas/seal.ts"
import { clockMillis } from "../../vocabulary/scalars.ts"
import type { Stop } from "../draft.ts"
import type { Reservation } from "../permits/pending.ts"

export type Budgets = {
  readonly run_tokens: number
  readonly window_tokens: number
  readonly window_seconds: number
}

/** One charge of declared tokens to a tenant's window. */
type WindowCharge = Omit<Reservation, "cap"> & {
  readonly tenant_id: string
  /** Milliseconds since the epoch. */
  readonly charged_at: number
}

/** Makes a charge atomically. Returns its number in the window, and the window's total after it. */
export type MakeCharge = (charge: WindowCharge) => Promise<Required<Pick<BudgetWindow, "ordinal" | "total_after">>>

/** The tokens that a run, or the opening of a permit, moves in the window of its admission. */
export function reservationOf(envelope: EnvelopeSection, tokens: number, budgets: Budgets): Reservation {
  const at = admissionMillis(envelope)
  return {
    charge_id: chargeId(envelope.hash),
    cap: budgets.window_tokens,
    window_seconds: budgets.window_seconds,
    window_start: windowStart(at, budgets.window_seconds),
    tokens,
  }
}

/** Charges the window of a run's admission. */
export async function chargeWindow(
  envelope: EnvelopeSection,
  tokens: number,
  budgets: Budgets,
  makeCharge: MakeCharge,
): Promise<BudgetWindow> {
  const { cap, ...charge } = reservationOf(envelope, tokens, budgets)
  const { tenant_id } = envelope
  const moved = await makeCharge({ ...charge, tenant_id, charged_at: admissionMillis(envelope) })
  return { ...charge, cap, window_start: new Date(charge.window_start).toISOString(), ...moved }
}

function admissionMillis({ admission_clock }: EnvelopeSection): number {
  const at = clockMillis(admission_clock)
  if (at === undefined) throw new RangeError("the admission clock is not one of ours")
  return at
}

/** Whether the window is full. A close that used no more than was reserved for it always passes. */
const isFull = ({ tokens, reserved, cap, total_after }: BudgetWindow): boolean =>
  total_after >= cap && (reserved === undefined || tokens > reserved)

/**
 * @param budget makes the snapshot of a halted run
 * @param window after what the run moved in it, as the snapshot has it
 */
export function maccGate(
  run: DecidedRun,
  token: AllowToken,
  budget: () => BudgetSnapshotSection,
  window: BudgetWindow,
  seal: Seal,
): Stop | undefined {
  if (!isFull(window)) return undefined
  const budget_snapshot = budget()
  const receipt = seal(maccHaltReceipt(run, token, budget_snapshot, window))
  return { outcome: "macc_halt", key: "macc_halt_receipt", receipt, sections: { budget_snapshot } }
}
