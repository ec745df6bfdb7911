/** What an act table costs: the same payload on a route with a table and on one without. */
import type { Bench, Part } from "../bench-plan.ts"
import { meanBytes, TRANSFER_POLICY, TRANSFERS } from "../bodies.ts"
import type { Measured } from "../measured-load.ts"
import { median, readable, type Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { inRounds, inTurn, type LoadRow, loadSection, loads } from "./loads.ts"

export const acts: Part = {
  name: "acts",
  about: "what an act table of ten names costs, with payloads of 64 KiB",
  run: async bench => (bench.database === undefined ? [] : [await measureActs(bench, bench.database)]),
}

async function measureActs(bench: Bench, database: DatabaseServer): Promise<Section> {
  const deployment = await openDeployment("acts", bench.plan.keys, database, "", TRANSFER_POLICY)
  const service = await deployment.start()
  const { heat, usual } = loads(bench, deployment)
  const { read, unread } = TRANSFERS
  bench.say("acts: heating")
  await heat([service], { requests: [...read.execute, ...read.permits] })
  // One connection: the time of a request, and no wait for the requests of others.
  const once = (requests: typeof read.execute) => () => usual([service], { requests, connections: 1 })
  const [executed, executedRead, permitted, permittedRead] = await inTurn(bench, [
    { what: "POST /execute, no table for the route", once: once(unread.execute) },
    { what: "… a table of ten names", once: once(read.execute) },
    {
      what: "POST /permits, no table for the route",
      note: "p50 and p99 of POST /permits alone",
      once: once(unread.permits),
    },
    { what: "… a table of ten names", once: once(read.permits) },
  ])
  await service.stop()
  deployment.remove()
  if (executed === undefined || executedRead === undefined || permitted === undefined || permittedRead === undefined)
    throw new Error("each is measured")
  const title = `Acts on PostgreSQL, bodies of ${meanBytes(unread.execute)} bytes, 1 connection, ${inRounds(bench.plan)}`
  return loadSection(title, [
    executed,
    { ...executedRead, note: moreThan(executed, executedRead) },
    permitted,
    { ...permittedRead, note: moreThan(permitted, permittedRead) },
  ])
}

/** How much longer one takes than the other, each against the same round. */
function moreThan({ rounds }: LoadRow, other: LoadRow): string {
  const more = (of: (round: Measured) => number, unit: (round: Measured) => number): string => {
    const values = other.rounds.map((round, at) => (of(round) - of(rounds[at] ?? round)) / unit(round))
    return `${readable(median(values))} (${readable(Math.min(...values))} to ${readable(Math.max(...values))})`
  }
  const verification = ({ verificationMicros }: Measured): number => verificationMicros / 1000
  const [p50, p99] = [({ p50 }: Measured) => p50, ({ p99 }: Measured) => p99]
  return `p50 ${more(p50, () => 1)} ms more, ${more(p50, verification)} P-256; p99 ${more(p99, () => 1)} ms more`
}
