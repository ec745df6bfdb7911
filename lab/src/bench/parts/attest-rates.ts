/** `POST /attest` on PostgreSQL and, when peers are asked for, a Tessera POSIX log under the same load. */

import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { ATTESTATIONS, TESSERA_ENTRIES } from "../bodies.ts"
import { measure } from "../measured-load.ts"
import type { Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { startTessera, type Tessera } from "../servers/tessera.ts"
import {
  inRounds,
  inTurn,
  type LoadRow,
  loadSection,
  loads,
  lockNote,
  type Side,
  saturatedAndHalf,
  times,
} from "./loads.ts"

export const attest: Part = {
  name: "attest",
  about: "attestations a second on PostgreSQL; with --peers beside a Tessera POSIX log",
  run: async bench => (bench.database === undefined ? [] : measureAttest(bench, bench.database)),
}

async function measureAttest(bench: Bench, database: DatabaseServer): Promise<readonly Section[]> {
  const deployment = await openDeployment("attest", bench.plan.keys, database)
  const service = await deployment.start()
  const asked = loads(bench, deployment)
  const changes = { requests: ATTESTATIONS }
  bench.say("attestations: heating")
  await asked.heat([service], changes)
  const peer = bench.peers ? await startTessera(bench.say) : { absent: "--peers was not given" }
  const own = saturatedAndHalf(asked, service, changes)
  const peers = "absent" in peer ? [] : tesseraSides(bench, peer)
  const rows = await inTurn(bench, [...own, ...peers])
  await service.stop()
  deployment.remove()
  if (!("absent" in peer)) await peer.stop()
  const [usual] = rows
  if (usual === undefined) throw new Error("the service is measured")
  const compared = rows.map((row, at): LoadRow => {
    if (at >= own.length) return { ...row, note: `the service is at ${times(usual, row)} this rate` }
    return row === usual ? { ...row, note: lockNote(row) } : row
  })
  const missing = "absent" in peer ? `; Tessera POSIX log not run: ${peer.absent}` : ""
  return [loadSection(`POST /attest on PostgreSQL, ${inRounds(bench.plan)}${missing}`, compared)]
}

/** Both give an index; only a published entry can be proven to anybody, as every answer of `POST /attest` is. */
const tesseraSides = ({ plan }: Bench, tessera: Tessera): readonly Side[] =>
  [
    { what: `Tessera POSIX ${tessera.version}, published`, requests: TESSERA_ENTRIES.published },
    { what: `Tessera POSIX ${tessera.version}, integrated only`, requests: TESSERA_ENTRIES.integrated },
  ].map(({ what, requests }) => ({
    what,
    once: () =>
      measure([tessera], {
        requests,
        secrets: [],
        connections: USUAL_CONNECTIONS,
        warmSeconds: plan.warmSeconds,
        seconds: plan.seconds,
      }),
  }))
