/** Reads: lists, search, records and bundles of one caller, proofs and tiles of the log, one kind after the other. */
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { TILE_WIDTH, tilePath } from "@runseal/core/transparency-log/tiles"
import { isObject, member, textMember } from "@runseal/core/vocabulary/json-members"
import { FULL } from "../bodies.ts"
import type { LoadRequest } from "../load/job.ts"
import { measure } from "../measured-load.ts"
import { USUAL_CONNECTIONS } from "../plan.ts"
import { openDeployment } from "../servers/deployment.ts"
import type { Bench, Part } from "./bench.ts"
import { type LoadRow, loadSection } from "./load-table.ts"

/** As many readers at once as a page of an auditor's tool has. */
const READERS = 8

export const reads: Part = {
  name: "reads",
  about: "lists, search, records, proofs and tiles",
  run: async bench => [await measureReads(bench)],
}

async function measureReads({ plan, database, say }: Bench): Promise<ReturnType<typeof loadSection>> {
  const deployment = await openDeployment("reads", 1, database)
  const service = await deployment.start()
  const secrets = deployment.secrets().slice(0, 1)
  say("reads: runs of one caller are made")
  const fill = { requests: FULL, secrets, connections: USUAL_CONNECTIONS, warmSeconds: 0, seconds: plan.heatSeconds }
  await measure([service], fill)
  const kept = await whatIsKept(service.url, secrets[0] ?? "")
  const rows: LoadRow[] = []
  for (const { what, paths } of kinds(kept)) {
    say(`reads: ${what}`)
    const requests = paths.map((path): LoadRequest => ({ method: "GET", path, status: 200 }))
    const job = {
      requests,
      secrets,
      connections: READERS,
      warmSeconds: plan.warmSeconds,
      seconds: plan.seconds / 3,
    }
    rows.push({ what, measured: await measure([service], job, deployment.lookAtDatabase) })
  }
  await service.stop()
  deployment.remove()
  const store = database === undefined ? "the embedded database" : "PostgreSQL"
  return loadSection(
    `Reads on ${store}: ${READERS} at once, ${kept.total} runs of one caller, ${kept.entries} log entries`,
    rows,
  )
}

type Kept = {
  readonly total: number
  readonly entries: number
  /** Of the newest runs. */
  readonly ids: readonly number[]
  readonly hashes: readonly string[]
}

async function whatIsKept(url: string, secret: string): Promise<Kept> {
  const read = async (path: string): Promise<string> => {
    const response = await fetch(url + path, { headers: { "X-Service-Key": secret } })
    if (response.status !== 200) throw new Error(`GET ${path} gave ${response.status}`)
    return response.text()
  }
  const page = parseStrictJson(await read("/runs?limit=100"))
  const total = member(page, "total")
  const list = member(page, "runs")
  const runs: readonly JsonValue[] = Array.isArray(list) ? list.filter(isObject) : []
  const [, entries = ""] = (await read("/log/checkpoint")).split("\n")
  return {
    total: Number(total),
    entries: Number(entries),
    ids: runs.map(run => Number(member(run, "id"))),
    hashes: runs.map(run => textMember(run, "manifest_hash") ?? ""),
  }
}

type Kind = { readonly what: string; readonly paths: readonly string[] }

/** Places shared out evenly over the log. */
const PLACES = 97
const spread = (entries: number, path: (place: number) => string): readonly string[] =>
  Array.from({ length: PLACES }, (_, i) => path(Math.floor((i * entries) / PLACES)))

const kinds = ({ total, entries, ids, hashes }: Kept): readonly Kind[] => [
  { what: "GET /runs, first page of 50", paths: ["/runs?limit=50"] },
  { what: "GET /runs, a page in the middle", paths: [`/runs?limit=50&offset=${Math.floor(total / 2)}`] },
  { what: "GET /runs/search by hash", paths: hashes.map(hash => `/runs/search?manifest_hash=${hash}`) },
  {
    what: "GET /runs/search by hash prefix",
    paths: hashes.map(hash => `/runs/search?manifest_hash=${hash.slice(0, 8)}`),
  },
  { what: "GET /runs/{id}", paths: ids.map(id => `/runs/${id}`) },
  { what: "GET /runs/{id}/artifacts, the bundle", paths: ids.map(id => `/runs/${id}/artifacts`) },
  { what: "GET /log/checkpoint", paths: ["/log/checkpoint"] },
  { what: "GET /log/entry/{index}, with proof", paths: spread(entries, index => `/log/entry/${index}`) },
  {
    what: "GET /log/consistency",
    paths: spread(entries, before => `/log/consistency?first=${before + 1}&second=${entries}`),
  },
  {
    what: "GET /log/tile/0, full tiles",
    paths: spread(
      Math.floor(entries / TILE_WIDTH),
      index => `/log/${tilePath({ level: 0, index, width: TILE_WIDTH })}`,
    ),
  },
]
