/** What a streaming standby has of its primary, and how it is cut off from it. */
import postgres from "postgres"
import { until } from "../harness/until.ts"

/** Sends statements, each a transaction of its own. */
export async function runOn<Row extends object>(
  url: string,
  ...statements: readonly string[]
): Promise<readonly Row[]> {
  const sql = postgres(url, { max: 1 })
  let rows: readonly Row[] = []
  try {
    for (const statement of statements) rows = await sql.unsafe<Row[]>(statement)
    return rows
  } finally {
    await sql.end()
  }
}

const untilTrue = (what: string, url: string, question: string): Promise<true> =>
  until(what, async () => (await runOn<{ done: boolean }>(url, `select (${question}) as done`))[0]?.done === true)

/** Resolves when the standby has replayed what the primary has written by now. */
export async function untilCaughtUp(standby: string, primary: string): Promise<void> {
  const [row] = await runOn<{ lsn: string }>(primary, "select pg_current_wal_lsn()::text as lsn")
  await untilTrue("the standby has what the primary has", standby, `pg_last_wal_replay_lsn() >= '${row?.lsn}'::pg_lsn`)
}

/** From here on the standby receives nothing. */
export async function cutOff(standby: string): Promise<void> {
  await runOn(standby, "alter system set primary_conninfo = ''", "select pg_reload_conf()")
  await untilTrue("nothing is received", standby, "select count(*) = 0 from pg_stat_wal_receiver")
}
