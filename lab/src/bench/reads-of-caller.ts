/** The reads of one caller and of the log that the bench and the load measure. */
import { parseStrictJson } from "@runseal/canonical"
import { isObject, member, textMember } from "@runseal/core/vocabulary/json-members"
import { TILE_WIDTH, tilePath } from "@runseal/log/merkle/tiles"
import type { LoadRequest } from "./load/load.ts"

/** One kind of read, with the different paths that are requested in rotation. */
export type ReadKind = { readonly what: string; readonly paths: readonly string[]; readonly note?: string }

/** The stored data to read. */
export type Stored = {
  /** Runs of the caller. */
  readonly total: number
  /** Entries of the log. */
  readonly entries: number
  /** Of the caller's newest runs. */
  readonly ids: readonly number[]
  readonly hashes: readonly string[]
}

/** Runs on one page of a list. */
export const PAGE = 50
/** Number of a page far down the list. */
const FAR_PAGE = 10_000
/** Number of positions, spread evenly over the list. */
const PLACES = 97

/** The text of an answer. @throws Error when it is not a 200 */
export async function readText(url: string, path: string, secret: string): Promise<string> {
  const response = await fetch(url + path, { headers: { "X-Service-Key": secret } })
  if (response.status !== 200) throw new Error(`GET ${path} gave ${response.status}`)
  return response.text()
}

export async function readStored(url: string, secret: string): Promise<Stored> {
  const page = parseStrictJson(await readText(url, "/runs?limit=100", secret))
  const list = member(page, "runs")
  const runs = Array.isArray(list) ? list.filter(isObject) : []
  const [, entries = ""] = (await readText(url, "/log/checkpoint", secret)).split("\n")
  return {
    total: Number(member(page, "total")),
    entries: Number(entries),
    ids: runs.map(run => Number(member(run, "id"))),
    hashes: runs.map(run => textMember(run, "manifest_hash") ?? ""),
  }
}

export const gets = (paths: readonly string[]): readonly LoadRequest[] =>
  paths.map(path => ({ method: "GET", path, status: 200 }))

const spread = (count: number, path: (place: number) => string): readonly string[] =>
  Array.from({ length: PLACES }, (_, i) => path(Math.floor((i * count) / PLACES)))

/** @param note of the first page */
export function listKinds({ total, hashes }: Stored, note = ""): readonly ReadKind[] {
  const page = (offset: number, limit = PAGE): readonly string[] => [`/runs?limit=${limit}&offset=${offset}`]
  const search = (query: (hash: string) => string): readonly string[] =>
    hashes.map(hash => `/runs/search?manifest_hash=${query(hash)}`)
  const far = Math.min(PAGE, Math.floor(total / FAR_PAGE))
  const last = Math.max(0, total - PAGE)
  return [
    { what: `GET /runs, first page of ${PAGE}`, paths: page(0), note },
    ...(far < 1 ? [] : [{ what: `GET /runs, page 10,000 of ${far} each`, paths: page((FAR_PAGE - 1) * far, far) }]),
    {
      what: "GET /runs, last page",
      paths: page(last),
      note: `page ${Math.ceil(total / PAGE).toLocaleString("en")}`,
    },
    { what: "GET /runs, any page", paths: spread(total, at => `/runs?limit=${PAGE}&offset=${at}`) },
    { what: "GET /runs/search by hash", paths: search(hash => hash) },
    { what: "GET /runs/search by hash prefix of 8", paths: search(hash => hash.slice(0, 8)) },
  ]
}

export const recordKinds = ({ ids }: Stored): readonly ReadKind[] => [
  { what: "GET /runs/{id}", paths: ids.map(id => `/runs/${id}`) },
  { what: "GET /runs/{id}/artifacts, the bundle", paths: ids.map(id => `/runs/${id}/artifacts`) },
]

export function logKinds({ entries }: Stored): readonly ReadKind[] {
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
