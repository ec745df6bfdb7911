/** Measures which operations stay as fast as in an empty database, through the real server over HTTP. */

import { parseStrictJson } from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"
import { measure } from "../bench/measured-load.ts"
import { readable, type Section, sectionOf } from "../bench/page.ts"
import { type LoadRow, loadSection } from "../bench/parts/loads.ts"
import {
  gets,
  listKinds,
  logKinds,
  PAGE,
  type ReadKind,
  readStored,
  readText,
  recordKinds,
} from "../bench/reads-of-caller.ts"
import { startService } from "../bench/servers/bench-deployment.ts"
import { programOf, routeOf } from "./fill.ts"
import { compareInserts } from "./inserts.ts"
import { ask, type Target } from "./target.ts"

/** One reader at a time: latency is measured, not throughput. */
const READERS = 1
/** Seconds in which all kinds are read before any is counted, for the JIT compiler to warm up. */
const HEAT_SECONDS = 10
const WARM_SECONDS = 0.5
const SECONDS = 3
/** So many different requests of each kind. */
const HEATING_PATHS = 10

const MEBIBYTE = 2 ** 20

/** @param callers their secrets; the first made every second run */
export async function measureFlatness(
  target: Target,
  callers: readonly string[],
  say: (line: string) => void,
): Promise<readonly Section[]> {
  const service = await startService(target.folder, target.url)
  const secrets = callers.slice(0, 1)
  const { look } = target
  const { title, kinds } = await readKinds(target.url, service.url, secrets[0] ?? "")
  say("all kinds in turn: code is compiled")
  const all = gets(kinds.flatMap(({ paths }) => paths.slice(0, HEATING_PATHS)))
  await measure([service], { requests: all, secrets, connections: READERS, warmSeconds: 0, seconds: HEAT_SECONDS })
  const rows: LoadRow[] = []
  for (const { what, paths, note = "" } of kinds) {
    say(what)
    const job = { requests: gets(paths), secrets, connections: READERS, warmSeconds: WARM_SECONDS, seconds: SECONDS }
    rows.push({ what, note, rounds: [await measure([service], job, () => look(target.url))] })
  }
  const { memory } = await service.look()
  await service.stop()
  const inserts = await compareInserts(target, callers, say)
  const memoryRow = {
    what: "memory of the service after all of these reads",
    value: memory / MEBIBYTE,
    unit: "MiB",
    note: "",
  }
  return [
    loadSection(title, rows),
    inserts.section,
    sectionOf("The service on it", [...inserts.starts, memoryRow]),
    await diskUse(target.url),
  ]
}

type Use = { readonly name: string; readonly table: string; readonly indexes: string; readonly runs: string }

const PER_RUN_WORTH_A_LINE = 5

/** Disk space per run, by table, as allocated: with the compressed bundles and free space in pages. */
async function diskUse(databaseUrl: string): Promise<Section> {
  const tables = await ask<Use>(
    databaseUrl,
    `select relname as name, pg_table_size(oid)::text as table, pg_indexes_size(oid)::text as indexes,
       (select count(*) from run)::text as runs
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by pg_total_relation_size(oid) desc`,
  )
  const runs = Number(tables[0]?.runs)
  const [bundles] = await ask<{ stored: string }>(
    databaseUrl,
    "select avg(octet_length(packed))::text as stored from document tablesample system (1) where kind = 'bundle'",
  )
  const rows = tables
    .map(({ name, table, indexes }) => ({ name, table: Number(table) / runs, indexes: Number(indexes) / runs }))
    .filter(({ table, indexes }) => table + indexes > PER_RUN_WORTH_A_LINE)
  const whole = rows.reduce((sum, { table, indexes }) => sum + table + indexes, 0)
  const bundle = `bundles as stored: ${readable(Number(bundles?.stored))} bytes in the mean`
  return {
    title: `Disk: bytes a run, ${runs.toLocaleString("en")} runs`,
    columns: ["table", "rows", "indexes", ""],
    rows: [
      ...rows.map(({ name, table, indexes }) => [
        name,
        readable(table),
        readable(indexes),
        name === "run" ? bundle : "",
      ]),
      ["all", "", "", `${readable(whole)} bytes a run, ${readable((whole * runs) / 2 ** 30)} GiB in all`],
    ],
  }
}

// The reads that should be as fast as in a small database, for the caller with most runs. Totals are compared with a count.

/** The search by time finds 1/46 of all runs. */
const TIME_SHARE = 46

/** @param databaseUrl to count rows directly */
async function readKinds(
  databaseUrl: string,
  serviceUrl: string,
  secret: string,
): Promise<{ readonly title: string; readonly kinds: readonly ReadKind[] }> {
  /** The note of a search: its total, once it was found exact. */
  const counted = async (path: string, condition: string): Promise<string> => {
    const [row] = await ask<{ count: string }>(
      databaseUrl,
      `select count(*)::text as count from run
       where owner = (select owner from run group by owner order by count(*) desc limit 1) and ${condition}`,
    )
    const total = Number(member(parseStrictJson(await readText(serviceUrl, path, secret)), "total"))
    if (total !== Number(row?.count)) throw new Error(`GET ${path} reports ${total} runs; there are ${row?.count}`)
    return `${total.toLocaleString("en")} match, exact`
  }
  const search = async (what: string, query: string, condition: string): Promise<ReadKind> => ({
    what: `GET /runs/search by ${what}`,
    paths: [`/runs/search?limit=${PAGE}&${query}`],
    note: await counted(`/runs/search?limit=1&${query}`, condition),
  })
  const stored = await readStored(serviceUrl, secret)
  const { from, to } = await timeInTheMiddle(databaseUrl)
  const [program, route] = [programOf(6), routeOf(6)]
  const two = (stored.hashes[0] ?? "").slice(0, 2)
  const within = `created_at between extract(epoch from '${from}'::timestamptz) * 1000 and extract(epoch from '${to}'::timestamptz) * 1000`
  return {
    title: `Reads of a key with ${stored.total.toLocaleString("en")} runs, ${stored.entries.toLocaleString("en")} log entries, one reader`,
    kinds: [
      ...listKinds(stored, await counted("/runs?limit=1", "true")),
      ...(await Promise.all([
        search("hash prefix of 2", `manifest_hash=${two}`, `manifest_hash like '${two}%'`),
        search("program", `program_id=${program}`, `program_id = '${program}'`),
        search("route", `route_id=${encodeURIComponent(route)}`, `route_id = '${route}'`),
        search("status ok", "status=ok", "outcome_kind = 'ok'"),
        search("status pepg_deny", "status=pepg_deny", "outcome_kind = 'pepg_deny'"),
        search("time", `from=${from}&to=${to}`, within),
      ])),
      ...recordKinds(stored),
      ...logKinds(stored),
    ],
  }
}

/** A range of times, to the second, that covers a part of the runs in the middle. */
async function timeInTheMiddle(databaseUrl: string): Promise<{ readonly from: string; readonly to: string }> {
  const [times] = await ask<{ from: string; to: string }>(
    databaseUrl,
    `select to_char(to_timestamp(min(created_at) / 1000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as from,
       to_char(to_timestamp(max(created_at) / 1000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as to
     from run, (select max(run_id) as last from run) as runs
     where run_id between last / 2 and last / 2 + last / ${TIME_SHARE}`,
  )
  if (times === undefined) throw new Error("there are no runs to read")
  return times
}
