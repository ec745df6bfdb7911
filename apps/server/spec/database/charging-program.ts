/**
 * A process that charges a tenant for ever on the embedded database in the folder of its first argument and prints each
 * total it was acknowledged, for tests that kill it.
 */
import { randomUUID } from "node:crypto"
import { openDatabase } from "../../src/store/driver/database.ts"
import { createBudgetLedger } from "../../src/store/tables/tenant-windows.ts"

const CONCURRENT_CHARGES = 8

const [dataDir = ""] = process.argv.slice(2)
const db = await openDatabase({ kind: "pglite", dataDir })
const ledger = createBudgetLedger(db)
const charge = () =>
  ledger.charge({
    charge_id: randomUUID(),
    tenant_id: "charged",
    window_seconds: 60,
    window_start: 0,
    tokens: 1,
    charged_at: Date.now(),
  })

async function chargeForever(): Promise<void> {
  for (;;) {
    const result = await charge()
    if (result.ok) process.stdout.write(`${result.total_after}\n`)
  }
}

await Promise.all(Array.from({ length: CONCURRENT_CHARGES }, chargeForever))
