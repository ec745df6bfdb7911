/**
 * The auditor who comes after every test: recomputes the log from its entries, verifies every stored record with the
 * public verifier and the published trust document, and holds every other table against the records.
 */
import { checkBudgets } from "./check-budgets.ts"
import { checkLog } from "./check-log.ts"
import { checkRecords } from "./check-records.ts"
import type { TestService } from "./service.ts"
import { readTables } from "./tables.ts"

export async function checkHouse(service: TestService): Promise<void> {
  const tables = await readTables(service.db)
  await checkLog(service, tables)
  const bundles = await checkRecords(service, tables)
  checkBudgets(tables, bundles)
}
