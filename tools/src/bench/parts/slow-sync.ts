/** The service against one transaction a request where a sync of the write-ahead log takes 4 ms, as on a disk of its own far away. */
import { USUAL_CONNECTIONS } from "../plan.ts"
import { readable, type Section } from "../row.ts"
import { commitMillis, type DatabaseServer, withSlowSync } from "../servers/database-server.ts"
import { openDeployment } from "../servers/deployment.ts"
import type { Bench, Part } from "./bench.ts"
import { loadSection, middleRound, times } from "./load-table.ts"
import { bestLanes, inTurn, loads, whichRound } from "./yardstick.ts"

const SYNC_MICROS = 4000

export const slowSync: Part = {
  name: "slow-sync",
  about: "against one transaction a run where a sync takes 4 ms",
  run: async bench => (bench.database === undefined ? [] : [await measureSlowSync(bench, bench.database)]),
}

async function measureSlowSync(bench: Bench, fast: DatabaseServer): Promise<Section> {
  const database = withSlowSync(fast, SYNC_MICROS)
  const commit = await commitMillis(await database.createDatabase("slow_commits"))
  if (commit < SYNC_MICROS / 1000) throw new Error("PostgreSQL did not wait before a sync")
  const usualCommit = await commitMillis(await fast.createDatabase("usual_commits"))
  const deployment = await openDeployment("slow_sync", bench.plan.keys, database)
  const service = await deployment.start()
  const asked = loads(bench, deployment)
  bench.say("a sync takes 4 ms: heating")
  await asked.heat(service)
  const lanes = await bestLanes(bench, deployment)
  const naive = await deployment.startNaive(lanes)
  await asked.heat(naive)
  const what = "a sync takes 4 ms, one transaction a run and service"
  const [naives = [], services = []] = await inTurn(bench, asked, what, [naive, service])
  await naive.stop()
  await service.stop()
  deployment.remove()
  const [yardstick, usual] = [middleRound(naives), middleRound(services)]
  const alone = `a change of one row takes ${readable(commit)} ms instead of ${readable(usualCommit)}`
  return loadSection("POST /execute where PostgreSQL waits 4 ms before each sync of its log (commit_delay)", [
    {
      what: "one transaction a run",
      measured: yardstick,
      note: `${lanes} open at once, its best of ${bench.plan.lanes.join(", ")}; ${alone}`,
    },
    {
      what: "the service",
      measured: usual,
      note: `${USUAL_CONNECTIONS} connections, ${whichRound(bench.plan)}; ${times(usual, yardstick)} one transaction a run`,
    },
  ])
}
