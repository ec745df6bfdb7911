/** Requests of OTLP, each with as many spans as an exporter sends at most: each span is sealed as a run. */
import type { Bench, Part, Plan } from "../bench-plan.ts"
import { meanBytes, SPANS, spanRequest } from "../bodies.ts"
import type { LoadRequest } from "../load/load.ts"
import type { Section } from "../page.ts"
import { openDeployment } from "../servers/bench-deployment.ts"
import type { DatabaseServer } from "../servers/database-server.ts"
import { inRounds, inTurn, joined, type LoadRow, loadSection, loads, middle, type Side } from "./loads.ts"
import { measureTwo } from "./two-commits.ts"

export const otlp: Part = {
  name: "otlp",
  about: `requests of ${SPANS} spans on PostgreSQL and on the embedded database`,
  run: async bench => {
    const { database, against, plan } = bench
    if (database === undefined) return []
    const load = `${SPANS} spans each, 1 connection`
    return [
      against === undefined
        ? await measureSpans(bench, database)
        : await measureTwo(bench, {
            ...{ part: "otlp", database, against, what: "POST /v1/traces", load },
            changesOf: () => ({ ...oneByOne, ...newRequests(plan) }),
          }),
    ]
  },
}

/** A server that was stuck would be noticed by the load's own bound; a job ends when its requests were sent. */
const oneByOne = { connections: 1, warmSeconds: 0, seconds: 300 }

/** Requests that are sent once each. */
function newRequests({ spanRequests }: Plan): {
  readonly requests: readonly LoadRequest[]
  readonly requestsMax: number
} {
  return { requests: Array.from({ length: spanRequests }, spanRequest), requestsMax: spanRequests }
}

async function measureSpans(bench: Bench, database: DatabaseServer): Promise<Section> {
  const { plan, say } = bench
  const deployment = await openDeployment("otlp", plan.keys, database)
  const embedded = await openDeployment("otlp", plan.keys)
  const [service, alone] = [await deployment.start(), await embedded.start()]
  const [asked, askedAlone] = [loads(bench, deployment), loads(bench, embedded)]
  say("spans: heating")
  await asked.heat([service])
  await asked.heat([service], { ...oneByOne, ...newRequests(plan) })
  await askedAlone.heat([alone])
  await askedAlone.heat([alone], { ...oneByOne, ...newRequests(plan) })
  let sent = newRequests(plan)
  const sides: readonly Side[] = [
    {
      what: "one request at a time",
      once: () => {
        sent = newRequests(plan)
        return asked.usual([service], { ...oneByOne, ...sent })
      },
    },
    { what: "… the same requests again", once: () => asked.usual([service], { ...oneByOne, ...sent }) },
    {
      what: "two requests at a time",
      once: () => asked.usual([service], { ...oneByOne, ...newRequests(plan), connections: 2 }),
    },
    {
      what: "the embedded database, one request at a time",
      once: () => askedAlone.usual([alone], { ...oneByOne, ...newRequests(plan) }),
    },
  ]
  const rows = await inTurn(bench, sides)
  for (const server of [service, alone]) await server.stop()
  deployment.remove()
  embedded.remove()
  const title = `POST /v1/traces on PostgreSQL, ${SPANS} spans and ${meanBytes(sent.requests)} bytes each, ${inRounds(plan)}`
  return loadSection(title, rows.map(withDelay))
}

const withDelay = (row: LoadRow): LoadRow => ({
  ...row,
  note: joined(
    row.note ?? "",
    `event-loop delay p99 ${middle(row, ({ loopDelayP99 }) => loopDelayP99).toFixed(1)} ms`,
    `lock held ${Math.round(middle(row, ({ cost }) => cost.lockMicros) / SPANS)} µs a span`,
  ),
})
