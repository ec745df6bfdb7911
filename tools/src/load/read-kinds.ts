/** The reads that are to be as fast as in a small database, for the caller with most runs. Totals are held against a count. */
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { TILE_WIDTH, tilePath } from "@runseal/core/transparency-log/tiles"
import { isObject, member, textMember } from "@runseal/core/vocabulary/json-members"
import { programOf, routeOf } from "./documents.ts"
import { ask } from "./target.ts"

export type ReadKind = { readonly what: string; readonly paths: readonly string[]; readonly note?: string }

/** Places shared out evenly over what there is. */
const PLACES = 97
const PAGE = 50
/** A page this far is asked for, of as many runs as there are for it. */
const FAR_PAGE = 10_000

const spread = (count: number, path: (place: number) => string): readonly string[] =>
  Array.from({ length: PLACES }, (_, i) => path(Math.floor((i * count) / PLACES)))

type Kept = {
  readonly total: number
  readonly entries: number
  readonly runs: readonly JsonValue[]
}

/** @param databaseUrl for counts of the database's own */
export async function readKinds(
  databaseUrl: string,
  serviceUrl: string,
  secret: string,
): Promise<{ readonly title: string; readonly kinds: readonly ReadKind[] }> {
  const read = async (path: string): Promise<string> => {
    const response = await fetch(serviceUrl + path, { headers: { "X-Service-Key": secret } })
    if (response.status !== 200) throw new Error(`GET ${path} gave ${response.status}`)
    return response.text()
  }
  const total = async (path: string): Promise<number> => Number(member(parseStrictJson(await read(path)), "total"))
  /** The note of a search: its total, once it was found exact. */
  const counted = async (path: string, condition: string): Promise<string> => {
    const [row] = await ask<{ count: string }>(
      databaseUrl,
      `select count(*)::text as count from run
       where owner = (select owner from run group by owner order by count(*) desc limit 1) and ${condition}`,
    )
    const told = await total(path)
    if (told !== Number(row?.count)) throw new Error(`GET ${path} tells ${told} runs where ${row?.count} are`)
    return `${told.toLocaleString("en")} match, exact`
  }
  const search = async (what: string, query: string, condition: string, page = ""): Promise<ReadKind> => ({
    what: `GET /runs/search by ${what}`,
    paths: [`/runs/search?limit=${PAGE}&${query}${page}`],
    note: await counted(`/runs/search?limit=1&${query}`, condition),
  })

  const list = member(parseStrictJson(await read("/runs?limit=100")), "runs")
  const [, entries = ""] = (await read("/log/checkpoint")).split("\n")
  const kept: Kept = {
    total: await total("/runs?limit=1"),
    entries: Number(entries),
    runs: Array.isArray(list) ? list.filter(isObject) : [],
  }
  const [instants] = await ask<{ day: string; next: string }>(
    databaseUrl,
    `select to_char(to_timestamp(middle / 1000), 'YYYY-MM-DD"T"00:00:00"Z"') as day,
       to_char(to_timestamp(middle / 1000), 'YYYY-MM-DD"T"23:59:59"Z"') as next
     from (select created_at as middle from run where run_id = (select max(run_id) / 2 from run)) as halfway`,
  )
  const [program, route] = [programOf(6), routeOf(6)]
  const [anyHash] = kept.runs.map(run => textMember(run, "manifest_hash") ?? "")
  const two = (anyHash ?? "").slice(0, 2)
  const within = `created_at between extract(epoch from '${instants?.day}'::timestamptz) * 1000 and extract(epoch from '${instants?.next}'::timestamptz) * 1000`
  return {
    title: `Reads of a key with ${kept.total.toLocaleString("en")} runs, ${Number(entries).toLocaleString("en")} log entries, one reader`,
    kinds: [
      ...listKinds(kept, await counted("/runs?limit=1", "true")),
      ...(await Promise.all([
        search("hash prefix of 2", `manifest_hash=${two}`, `manifest_hash like '${two}%'`),
        search("program", `program_id=${program}`, `program_id = '${program}'`),
        search("route", `route_id=${encodeURIComponent(route)}`, `route_id = '${route}'`),
        search("status ok", "status=ok", "outcome_kind = 'ok'"),
        search("status pepg_deny", "status=pepg_deny", "outcome_kind = 'pepg_deny'"),
        search("one day", `from=${instants?.day}&to=${instants?.next}`, within),
      ])),
      ...recordKinds(kept),
      ...logKinds(kept),
    ],
  }
}

function listKinds({ total, runs }: Kept, note: string): readonly ReadKind[] {
  const hashes = runs.map(run => textMember(run, "manifest_hash") ?? "")
  const page = (offset: number, limit = PAGE): readonly string[] => [`/runs?limit=${limit}&offset=${offset}`]
  const far = Math.min(PAGE, Math.floor(total / FAR_PAGE))
  return [
    { what: `GET /runs, first page of ${PAGE}`, paths: page(0), note },
    ...(far < 1 ? [] : [{ what: `GET /runs, page 10,000 of ${far} each`, paths: page((FAR_PAGE - 1) * far, far) }]),
    {
      what: "GET /runs, last page",
      paths: page(total - PAGE),
      note: `page ${Math.ceil(total / PAGE).toLocaleString("en")}`,
    },
    { what: "GET /runs, any page", paths: spread(total, at => `/runs?limit=${PAGE}&offset=${at}`) },
    { what: "GET /runs/search by hash", paths: hashes.map(hash => `/runs/search?manifest_hash=${hash}`) },
    {
      what: "GET /runs/search by hash prefix of 8",
      paths: hashes.map(hash => `/runs/search?manifest_hash=${hash.slice(0, 8)}`),
    },
  ]
}

function recordKinds({ runs }: Kept): readonly ReadKind[] {
  const ids = runs.map(run => Number(member(run, "id")))
  return [
    { what: "GET /runs/{id}", paths: ids.map(id => `/runs/${id}`) },
    { what: "GET /runs/{id}/artifacts, the bundle", paths: ids.map(id => `/runs/${id}/artifacts`) },
  ]
}

function logKinds({ entries }: Kept): readonly ReadKind[] {
  const tile = (index: number): string => `/log/${tilePath({ level: 0, index, width: TILE_WIDTH })}`
  return [
    { what: "GET /log/entry/{index}, with proof", paths: spread(entries, index => `/log/entry/${index}`) },
    {
      what: "GET /log/consistency, to the newest",
      paths: spread(entries, before => `/log/consistency?first=${before + 1}&second=${entries}`),
    },
    { what: "GET /log/tile/0, full tiles", paths: spread(Math.floor(entries / TILE_WIDTH), tile) },
    { what: "GET /log/checkpoint", paths: ["/log/checkpoint"] },
  ]
}
