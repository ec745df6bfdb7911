/** Group commit for charges: whatever waits while the last transaction commits goes into the next one. */
import type { Database } from "./database.ts"
import { StoreError } from "./errors.ts"
import { type Charge, type ChargeResult, chargeWindows } from "./tenant-windows.ts"

/** Charges one transaction makes. */
export const MAX_CHARGES_PER_BATCH = 256
/** Charges that may wait; one more is refused at once. */
export const MAX_WAITING_CHARGES = 4096

export type BudgetLedger = {
  /**
   * Resolves when the charge is durable.
   * @throws StoreError "unavailable" when too many wait or the ledger is closed; otherwise what its batch met
   */
  readonly charge: (charge: Charge) => Promise<ChargeResult>
  /** Refuses new charges and resolves when those that wait are settled. */
  readonly close: () => Promise<void>
}

type WaitingCharge = {
  readonly charge: Charge
  readonly resolve: (result: ChargeResult) => void
  readonly reject: (error: unknown) => void
}

export function createBudgetLedger(db: Database): BudgetLedger {
  const waiting: WaitingCharge[] = []
  let closed = false
  let settling: Promise<void> | undefined
  const settleAll = async (): Promise<void> => {
    while (waiting.length > 0) await settle(db, waiting.splice(0, MAX_CHARGES_PER_BATCH))
    settling = undefined
  }
  return {
    charge: charge =>
      new Promise((resolve, reject) => {
        if (closed || waiting.length >= MAX_WAITING_CHARGES) {
          return reject(new StoreError("unavailable", { message: "No more charges are taken for now." }))
        }
        waiting.push({ charge, resolve, reject })
        settling ??= settleAll()
      }),
    close: async () => {
      closed = true
      await settling
    },
  }
}

async function settle(db: Database, batch: readonly WaitingCharge[]): Promise<void> {
  try {
    const results = await chargeWindows(
      db,
      batch.map(({ charge }) => charge),
    )
    for (const [at, { resolve, reject }] of batch.entries()) {
      const result = results[at]
      if (result === undefined) reject(new StoreError("corrupt"))
      else resolve(result)
    }
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}
