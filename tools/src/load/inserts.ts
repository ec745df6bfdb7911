/** How fast runs are sealed in the loaded database and in an empty one, in turn. */
import { FULL } from "../bench/bodies.ts"
import { type Measured, measure } from "../bench/measured-load.ts"
import { loadSection, middleRound, times } from "../bench/parts/load-table.ts"
import { USUAL_CONNECTIONS } from "../bench/plan.ts"
import type { Section } from "../bench/row.ts"
import { openBulkDeployment } from "./bulk-deployment.ts"
import type { Loaded } from "./loaded.ts"
import { startService } from "./start-service.ts"
import type { Target } from "./target.ts"

const ROUNDS = 5
const HEAT_SECONDS = 4
const WARM_SECONDS = 0.5
const SECONDS = 5

/** @param loaded its callers take turns; the empty database gets as many */
export async function compareInserts(target: Target, loaded: Loaded, say: (line: string) => void): Promise<Section> {
  const { look } = target
  const empty = await target.empty()
  const deployment = await openBulkDeployment(empty.url, empty.folder, Date.now)
  const secrets: string[] = []
  for (const [i] of loaded.secrets.entries()) secrets.push((await deployment.mint(`load ${i}`)).secret)
  await deployment.close()

  const sides = [
    { what: "the loaded database", secrets: loaded.secrets, database: target.url, folder: target.folder },
    { what: "an empty database", secrets, database: empty.url, folder: empty.folder },
  ]
  const running = []
  for (const side of sides)
    running.push({ ...side, service: await startService(side.database, side.folder), rounds: [] as Measured[] })
  const connections = USUAL_CONNECTIONS
  for (let round = -1; round < ROUNDS; round++) {
    for (const { what, service, database, rounds, ...side } of running) {
      say(round < 0 ? `${what}: its code is compiled` : `inserts into ${what}, round ${round + 1} of ${ROUNDS}`)
      const seconds = round < 0 ? HEAT_SECONDS : SECONDS
      const job = { requests: FULL, secrets: side.secrets, connections, warmSeconds: WARM_SECONDS, seconds }
      const measured = await measure([service], job, look && (() => look(database)))
      if (round >= 0) rounds.push(measured)
    }
  }
  for (const { service } of running) await service.stop()
  const middles = running.map(({ what, rounds }) => ({ what, measured: middleRound(rounds) }))
  const [full, none] = middles
  if (full === undefined || none === undefined) throw new Error("two databases are compared")
  return loadSection(`Inserts: POST /execute with ${connections} connections, ${loaded.secrets.length} keys in turn`, [
    { ...full, note: `${times(full.measured, none.measured)} the empty one, the middle of ${ROUNDS} rounds in turn` },
    none,
  ])
}
