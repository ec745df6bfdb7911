/** Reports: how long one takes, and how much it slows other requests. */

import { type Bench, type Part, USUAL_CONNECTIONS } from "../bench-plan.ts"
import { FULL } from "../bodies.ts"
import { type LoadRequest, type LoadResult, load } from "../load/load.ts"
import { type Measured, measure } from "../measured-load.ts"
import { readable, type Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { ServerProcess } from "../servers/measured-server.ts"
import { loadSection } from "./loads.ts"

/** Concurrent report requests: one is drawn, one waits. */
const READERS = 2
/** Runs a second beside reports: well below what either core could do alone. */
const RUNS_BESIDE = 50
/** The runs whose reports are drawn. */
const REPORTED = 16

export const reports: Part = {
  name: "reports",
  about: "reports alone and beside runs",
  run: measureReports,
}

async function measureReports({ plan, database, say }: Bench): Promise<readonly Section[]> {
  const deployment = await openDeployment("reports", 1, database)
  const service = await deployment.start()
  const [secret = ""] = deployment.secrets()
  const job = { secrets: [secret], connections: USUAL_CONNECTIONS, warmSeconds: 0, seconds: plan.heatSeconds }
  say("reports: heating")
  await measure([service], { ...job, requests: FULL })
  const reading = {
    ...job,
    requests: await reportRequests(service, secret),
    connections: READERS,
    seconds: plan.heatSeconds,
  }
  const running = { ...job, requests: FULL, perSecond: RUNS_BESIDE, seconds: plan.seconds + plan.heatSeconds }
  await measure([service], reading)
  say("reports alone, runs alone, both")
  const drawn = await measure([service], reading, deployment.lookAtDatabase)
  const alone = await measure([service], running, deployment.lookAtDatabase)
  const both = await beside(service, reading, running)
  await service.stop()
  deployment.remove()
  const due = `open loop, ${RUNS_BESIDE} a second due`
  return [
    loadSection("Reports", [
      {
        what: "GET /runs/{id}/report.pdf, comprehensive",
        rounds: [drawn],
        note: `${READERS} readers, nothing else asked; ${delay(drawn)}`,
      },
      { what: "POST /execute, no reports", rounds: [alone], note: `${due}; ${delay(alone)}` },
      {
        what: "POST /execute, reports drawn all the time",
        rounds: [both.running],
        note: `${readable(both.reading.perSecond)} reports a second beside, in service µs too; ${delay(both.running)}`,
      },
    ]),
  ]
}

const delay = ({ loopDelayP99 }: Measured): string => `event-loop delay p99 ${readable(loopDelayP99)} ms`

type Job = Parameters<typeof measure>[1]

async function beside(
  service: ServerProcess,
  reading: Job,
  running: Job,
): Promise<{ readonly reading: LoadResult; readonly running: Measured }> {
  // Only one of the two samples the service: a sample resets its counters.
  const [read, measured] = await Promise.all([
    load({ ...reading, urls: [service.url], seconds: running.seconds }),
    measure([service], running),
  ])
  return { reading: read, running: measured }
}

/** The runs are the newest of their caller: numbers count up over all callers, and nobody else has called. */
async function reportRequests({ url }: ServerProcess, secret: string): Promise<readonly LoadRequest[]> {
  const checked = await fetch(`${url}/runs/${REPORTED}`, { headers: { "X-Service-Key": secret } })
  if (checked.status !== 200) throw new Error(`fewer than ${REPORTED} runs were made`)
  return Array.from({ length: REPORTED }, (_, i) => ({ method: "GET", path: `/runs/${i + 1}/report.pdf`, status: 200 }))
}
