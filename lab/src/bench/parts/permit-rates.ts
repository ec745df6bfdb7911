/** A permit and the close of its run, beside `POST /execute` of the same run. */
import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { PERMITS } from "../bodies.ts"
import type { Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { inRounds, inTurn, joined, loadSection, loads, lockNote, type Side, times } from "./loads.ts"
import { measureTwo } from "./two-commits.ts"

export const permits: Part = {
  name: "permits",
  about: "permits and closes a second on PostgreSQL, beside POST /execute",
  run: async bench => {
    const { database, against } = bench
    if (database === undefined) return []
    const what = "A permit and its close"
    return [
      against === undefined
        ? await measurePermits(bench, database)
        : await measureTwo(bench, {
            part: "permits",
            database,
            against,
            what,
            changesOf: () => ({ requests: PERMITS }),
          }),
    ]
  },
}

async function measurePermits(bench: Bench, database: DatabaseServer): Promise<Section> {
  const deployment = await openDeployment("permits", bench.plan.keys, database)
  const service = await deployment.start()
  const { heat, usual } = loads(bench, deployment)
  bench.say("permits: heating")
  await heat([service])
  await heat([service], { requests: PERMITS })
  // Each quarter is of the rate of the same round.
  let saturated = Number.NaN
  const sides: readonly Side[] = [
    { what: "POST /execute", once: () => usual([service]) },
    {
      what: "a permit and its close",
      once: async () => {
        const measured = await usual([service], { requests: PERMITS })
        saturated = measured.perSecond
        return measured
      },
    },
    {
      what: "a quarter of that rate",
      note: "open loop: latency of POST /permits alone, from the instant it was due",
      once: () => usual([service], { requests: PERMITS, perSecond: saturated / 4 }),
    },
  ]
  const rows = await inTurn(bench, sides)
  await service.stop()
  deployment.remove()
  const [executed] = rows
  const compared = rows.map((row, at) => {
    const beside = at === 1 && executed !== undefined ? `${times(row, executed)} POST /execute` : ""
    return { ...row, note: joined(beside, row.note ?? lockNote(row)) }
  })
  return loadSection(`Permits on PostgreSQL, ${USUAL_CONNECTIONS} connections, ${inRounds(bench.plan)}`, compared)
}
