/** Charges of token budgets, committed in groups. */
import type { Database } from "../driver/database.ts"
import { createGroupCommit, type Upstream } from "../driver/group-commit.ts"
import { type Charge, type ChargeResult, chargeWindows } from "./tenant-windows.ts"

/** Charges one transaction makes. */
const MAX_CHARGES_PER_BATCH = 256
/** Charges of each kind that may wait; one more is refused at once. */
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
  const group = () => createGroupCommit<Charge, ChargeResult>(batch => chargeWindows(db, batch), bounds)
  // A charge under an idempotency key may wait for a batch of another process that seals under it: those without a key do not.
  const [plain, keyed] = [group(), group()]
  return {
    charge: charge => (charge.claim === undefined ? plain : keyed).submit(charge),
    underWay: () => plain.underWay() ?? keyed.underWay(),
    close: async () => void (await Promise.all([plain.close(), keyed.close()])),
  }
}
