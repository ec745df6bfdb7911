import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startPostgresCluster } from "@runseal/server/postgres-cluster"
import { afterAll, expect, test } from "vitest"
import { openBulkDeployment } from "./bulk-deployment.ts"
import { loadRuns } from "./bulk-load.ts"
import { ask } from "./target.ts"

const start = await startPostgresCluster()
const folder = mkdtempSync(join(tmpdir(), "runseal-load-"))
afterAll(async () => {
  if (start.kind === "started") await start.cluster.stop()
  rmSync(folder, { recursive: true, force: true })
})

const RUNS = 600

test.skipIf(start.kind === "absent")("every loaded record verifies, and the log and the chains are whole", async () => {
  if (start.kind === "absent") throw new Error(start.reason)
  const { url } = start.cluster
  let clock = Date.now() - 3_600_000
  const deployment = await openBulkDeployment(url, folder, () => clock, 1)
  const callers = [await deployment.mint("a"), await deployment.mint("b"), await deployment.mint("c")]
  const loaded = await loadRuns(deployment, {
    runs: RUNS,
    callers,
    moveClock: at => {
      clock += at
      return clock
    },
    enough: () => false,
  })
  await deployment.close()
  expect([loaded, deployment.sample.verified()]).toEqual([RUNS, RUNS])
  const tenants = "select tenant_id, record_count::int as records from tenant order by 1"
  expect(await ask(url, tenants)).toEqual([
    { tenant_id: "api-key-1", records: 300 },
    { tenant_id: "api-key-2", records: 150 },
    { tenant_id: "api-key-3", records: 150 },
  ])
  const [counts] = await ask(
    url,
    `select (select size from log_head)::int as size, (select count(*) from log_entry)::int as entries,
       (select count(*) from run)::int as runs, (select count(distinct program_id) from run)::int as programs,
       (select count(*) from run where outcome_kind = 'pepg_deny')::int as denied`,
  )
  expect(counts).toEqual({ size: 2 * RUNS + 1, entries: 2 * RUNS + 1, runs: RUNS, programs: 40, denied: 27 })
})

test.skipIf(start.kind === "absent")("a load ends when it is told that it is enough", async () => {
  if (start.kind === "absent") throw new Error(start.reason)
  const url = await start.cluster.createDatabase("enough")
  const clock = Date.now() - 3_600_000
  const deployment = await openBulkDeployment(url, join(folder, "enough"), () => clock)
  const callers = [await deployment.mint("a"), await deployment.mint("b")]
  const loaded = await loadRuns(deployment, { runs: 5000, callers, moveClock: () => clock, enough: at => at > 300 })
  await deployment.close()
  expect(loaded).toBe(512)
  expect(await ask(url, "select count(*)::int as runs from run")).toEqual([{ runs: 512 }])
})
