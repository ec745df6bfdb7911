/** The run a per-run endpoint is about. docs/api.md, "Keys". */
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { findRun, type RunRow } from "../../store/tables/runs-table.ts"
import { callerOf } from "../access/caller.ts"
import { roomForAnswer } from "../http/json-body.ts"
import { noSuchRun, readRunId } from "../http/path-ids.ts"

/** The run of the path. @throws HttpError 404 when there is none, also when it is another caller's */
export const ownRun = (c: Context, deps: Pick<Deps, "reads">): Promise<RunRow> =>
  callersRun(c, deps, readRunId(c.req.param("id") ?? ""))

/** The caller's run with this number. @throws HttpError 404 when there is none, also when it is another caller's */
export async function callersRun(c: Context, { reads }: Pick<Deps, "reads">, runId: number): Promise<RunRow> {
  const row = await reads.settled(source => findRun(source, callerOf(c).api_key_id, runId))
  if (row === undefined) throw noSuchRun()
  await roomForAnswer(c, row.bundle.length)
  return row
}
