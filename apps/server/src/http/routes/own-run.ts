/** The run a per-run endpoint is about. docs/api.md, "Keys". */
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { HttpError } from "../../http-error.ts"
import { findAnyRun, findRun, type RunRow } from "../../store/tables/runs-table.ts"
import { type Caller, callerOf, keyCallerOf } from "../access/caller.ts"
import { roomForAnswer } from "../json-body.ts"
import { noSuchRun, readRunId } from "../path-ids.ts"

/** Finds the run of a path. @throws HttpError 404 when there is none that the caller reads there */
export type RunOfPath = (c: Context, deps: Pick<Deps, "reads">) => Promise<RunRow>

const runId = (c: Context): number => readRunId(c.req.param("id"))

/** The run of the path. @throws HttpError 404 when there is none, also when it is another caller's */
export const ownRun: RunOfPath = (c, deps) => callersRun(c, deps, runId(c))

/** The caller's run with this number. @throws HttpError 404 when there is none, also when it is another caller's */
export const callersRun = (c: Context, { reads }: Pick<Deps, "reads">, id: number): Promise<RunRow> =>
  withRoom(
    c,
    reads.immutable(source => findRun(source, keyCallerOf(c).api_key_id, id)),
  )

/** Whether an administrator or auditor reads what this key made. */
export const readsOwner = ({ reads }: Caller, owner: number): boolean => reads === undefined || reads.includes(owner)

/** For what names every key. @throws HttpError 403 for an auditor of named keys */
export function refuseNamed(c: Context): void {
  if (callerOf(c).reads !== undefined)
    throw new HttpError(
      "admin_key_required",
      "This auditor reads the runs of named keys, and nothing that is of all keys.",
    )
}

/** The run of the path, of any key: for administrators, and for auditors who read that key. */
export const anyRun: RunOfPath = (c, { reads }) =>
  withRoom(
    c,
    reads
      .immutable(source => findAnyRun(source, runId(c)))
      .then(row => (row !== undefined && readsOwner(callerOf(c), row.owner) ? row : undefined)),
  )

async function withRoom(c: Context, found: Promise<RunRow | undefined>): Promise<RunRow> {
  const row = await found
  if (row === undefined) throw noSuchRun()
  await roomForAnswer(c, row.bundle.length)
  return row
}
