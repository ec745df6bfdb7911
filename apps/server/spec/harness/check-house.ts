/**
 * The auditor of the tests. After each test he verifies what is new: every record and attestation, with the public verifier and the
 * published trust document, and that nothing else is new in the log. After the last test of a suite he checks everything: he recomputes
 * the log from its entries, and compares every other table with the records.
 */
import { auditorOf, checkEveryEntryExplained } from "./auditor.ts"
import { checkAccess } from "./check-access.ts"
import { checkRequests, judgeRequests } from "./check-approvals.ts"
import { checkAttestations, judgeAttestations } from "./check-attestations.ts"
import { checkBudgets } from "./check-budgets.ts"
import { checkEvents, judgeEvents } from "./check-events.ts"
import { checkExports } from "./check-exports.ts"
import { checkLog } from "./check-log.ts"
import { judgeOthers } from "./check-others.ts"
import { checkPermits, judgePermits } from "./check-permits.ts"
import { anchorsOf, checkRecords, judgeRecords } from "./check-records.ts"
import { type NewRows, readNewRows, readTables, type Seen } from "./read-tables.ts"
import type { TestService } from "./test-service.ts"

type LookedAt = Seen & { readonly statements: number }

const UNSEEN: LookedAt = { logSize: 0, nextRunId: 1, statements: 0 }
const lookedAtBy = new WeakMap<object, LookedAt>()

/** What came since the last look at this service; everything when its log is shorter than it was. */
export async function checkNewRows(service: TestService): Promise<void> {
  const seen = lookedAtBy.get(service) ?? UNSEEN
  const rows = await readNewRows(service.db, seen)
  if (rows.head.size < seen.logSize) await checkHouse(service)
  else await judgeNew(service, rows, service.statements.slice(seen.statements))
  const { size, next_run_id } = rows.head
  lookedAtBy.set(service, { logSize: size, nextRunId: next_run_id, statements: service.statements.length })
}

async function judgeNew(service: TestService, rows: NewRows, exported: readonly string[]): Promise<void> {
  if (rows.entries.length === 0 && rows.runs.length === 0 && exported.length === 0) return
  const auditor = await auditorOf(service, rows.entries)
  const bundles = judgeRecords(auditor, service, rows.runs)
  const { openings, ends, redemptions } = judgePermits(auditor, rows)
  const requests = judgeRequests(auditor, rows)
  const events = judgeEvents(auditor, rows)
  const attestations = judgeAttestations(auditor, service, rows.attestations)
  const statements = checkExports(auditor, exported)
  const anchors = [
    ...bundles.flatMap(anchorsOf),
    ...openings,
    ...ends,
    ...redemptions,
    ...requests,
    ...events,
    ...attestations,
    ...statements,
    ...judgeOthers(auditor, rows),
  ]
  checkEveryEntryExplained(anchors, rows.entries)
}

/** Everything. */
export async function checkHouse(service: TestService): Promise<void> {
  const tables = await readTables(service.db)
  await checkLog(service, tables)
  const auditor = await auditorOf(service, tables.entries)
  const permits = checkPermits(auditor, tables)
  const requests = judgeRequests(auditor, tables)
  const bundles = checkRecords(auditor, service, tables, { ...permits, requests })
  checkRequests(tables, bundles, permits)
  const events = checkEvents(auditor, tables)
  const attestations = checkAttestations(auditor, service, tables)
  const statements = checkExports(auditor, service.statements)
  const anchors = [
    ...bundles.flatMap(anchorsOf),
    ...permits.openings,
    ...permits.ends,
    ...permits.redemptions,
    ...requests,
    ...events,
    ...attestations,
    ...statements,
    ...judgeOthers(auditor, tables),
  ]
  checkEveryEntryExplained(anchors, tables.entries)
  checkBudgets(tables, bundles, permits)
  checkAccess(tables, bundles)
}
