/** Charges of token budgets, committed in groups. */
import type { Database } from "../driver/database.ts"
import { createGroupCommit, type Upstream } from "../driver/group-commit.ts"
import { type Charge, type ChargeResult, chargeWindows } from "./tenant-windows.ts"

/** Charges one transaction makes. */
const MAX_CHARGES_PER_BATCH = 256
/** Charges that may wait; one more is refused at once. */
export const MAX_WAITING_CHARGES = 4096

export type BudgetLedger = Upstream & {
  /**
   * Resolves when the charge is durable.
   * @throws StoreError "unavailable" when too many wait or the ledger is closed; otherwise what its batch met
   */
  readonly charge: (charge: Charge) => Promise<ChargeResult>
  /** Refuses new charges and resolves when those that wait are settled. */
  readonly close: () => Promise<void>
}

export function createBudgetLedger(db: Database): BudgetLedger {
  const bounds = { batch: MAX_CHARGES_PER_BATCH, waiting: MAX_WAITING_CHARGES }
  const { submit, underWay, close } = createGroupCommit<Charge, ChargeResult>(batch => chargeWindows(db, batch), bounds)
  return { charge: submit, underWay, close }
}
