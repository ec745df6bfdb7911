/**
 * The auditor who comes after every test: recomputes the log from its entries, verifies every stored record with the
 * public verifier and the published trust document, the same with every attestation, and holds every other table against
 * them.
 */
import { auditorOf, checkEveryEntryExplained } from "./auditor.ts"
import { checkAccess } from "./check-access.ts"
import { checkAttestations } from "./check-attestations.ts"
import { checkBudgets } from "./check-budgets.ts"
import { checkExports } from "./check-exports.ts"
import { checkLog } from "./check-log.ts"
import { anchorsOf, checkRecords } from "./check-records.ts"
import type { TestService } from "./service.ts"
import { readTables } from "./tables.ts"

export async function checkHouse(service: TestService): Promise<void> {
  const tables = await readTables(service.db)
  await checkLog(service, tables)
  const auditor = await auditorOf(service, tables.entries)
  const bundles = checkRecords(auditor, service, tables)
  const attestations = checkAttestations(auditor, service, tables)
  const statements = checkExports(auditor, service)
  checkEveryEntryExplained([...bundles.flatMap(anchorsOf), ...attestations, ...statements], tables.head.size)
  checkBudgets(tables, bundles)
  checkAccess(tables, bundles)
}
