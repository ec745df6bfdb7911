/** Reads: lists, search, records and bundles of one caller, proofs and tiles of the log, one kind after the other. */

import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { FULL } from "../bodies.ts"
import { load } from "../load/load.ts"
import { measure } from "../measured-load.ts"
import type { Section } from "../page.ts"
import { gets, listKinds, logKinds, readStored, recordKinds } from "../reads-of-caller.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import { type LoadRow, loadSection } from "./loads.ts"

/** As many readers at once as a page of an auditor's tool has. */
const READERS = 8
/** Longer than the slowest machine needs for the runs that are read. */
const FILL_DEADLINE_SECONDS = 300

export const reads: Part = {
  name: "reads",
  about: "lists, search, records, proofs and tiles",
  run: async bench => [await measureReads(bench)],
}

async function measureReads({ plan, database, say }: Bench): Promise<Section> {
  const deployment = await openDeployment("reads", 1, database)
  const service = await deployment.start()
  const secrets = deployment.secrets().slice(0, 1)
  say("reads: runs of one caller are made")
  const fill = {
    requests: FULL,
    secrets,
    connections: USUAL_CONNECTIONS,
    warmSeconds: 0,
    seconds: FILL_DEADLINE_SECONDS,
  }
  await load({ ...fill, urls: [service.url], requestsMax: plan.storedRuns })
  const stored = await readStored(service.url, secrets[0] ?? "")
  const rows: LoadRow[] = []
  for (const { what, paths, note = "" } of [...listKinds(stored), ...recordKinds(stored), ...logKinds(stored)]) {
    say(`reads: ${what}`)
    const counted = { warmSeconds: plan.warmSeconds, seconds: plan.seconds / 3 }
    const job = { requests: gets(paths), secrets, connections: READERS, ...counted }
    rows.push({ what, note, rounds: [await measure([service], job, deployment.lookAtDatabase)] })
  }
  await service.stop()
  deployment.remove()
  const store = database === undefined ? "the embedded database" : "PostgreSQL"
  const { total, entries } = stored
  return loadSection(`Reads on ${store}: ${READERS} at once, ${total} runs of one caller, ${entries} log entries`, rows)
}
