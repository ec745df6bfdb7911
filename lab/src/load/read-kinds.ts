/** The reads that should be as fast as in a small database, for the caller with most runs. Totals are compared with a count. */
import { parseStrictJson } from "@runseal/canonical"
import { member } from "@runseal/core/vocabulary/json-members"
import {
  listKinds,
  logKinds,
  PAGE,
  type ReadKind,
  readStored,
  readText,
  recordKinds,
} from "../bench/reads-of-caller.ts"
import { programOf, routeOf } from "./fill.ts"
import { ask } from "./target.ts"

/** The search by time finds 1/46 of all runs. */
const TIME_SHARE = 46

/** @param databaseUrl to count rows directly */
export async function readKinds(
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
