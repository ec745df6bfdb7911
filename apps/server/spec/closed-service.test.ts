/** What is left of a service that was closed. */
import { expect, test } from "vitest"
import { openDatabase } from "../src/store/driver/database.ts"
import { checkHouse } from "./harness/check-house.ts"
import { request } from "./harness/sample-requests.ts"
import { openService } from "./harness/test-service.ts"

/** Threads of this process, also those that would not keep it alive: Node's diagnostic report. */
function threads(): number {
  const report: { workers?: readonly unknown[] } = process.report.getReport()
  return report.workers?.length ?? 0
}

test("no thread is left when a service that sealed a run has closed", async () => {
  const before = threads()
  const service = await openService({ open: () => openDatabase({ kind: "memory" }) })
  expect((await service.execute(request())).status).toBe(200)
  await checkHouse(service)
  expect(threads()).toBeGreaterThan(before)
  await service.close()
  expect(threads()).toBeLessThanOrEqual(before)
})
