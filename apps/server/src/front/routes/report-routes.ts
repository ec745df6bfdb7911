/** The audit report of a run. docs/api.md, "GET /runs/{id}/report.pdf". */
import { type Context, Hono } from "hono"
import type { Deps } from "../../deps.ts"
import { reportFileName } from "../../report/subject.ts"
import { findPublicToken } from "../../store/tables/publications-table.ts"
import type { RunRow } from "../../store/tables/runs-table.ts"
import { readReportQuery } from "../http/bundle-query.ts"
import { publicBundlePath } from "./addresses.ts"
import { refusalOfJob } from "./job-refusal.ts"
import type { RunOfPath } from "./own-run.ts"
import { shownBundle } from "./shown-bundle.ts"

const BUSY = "The report cannot be made now: too many are being made. Try again."
const TOO_MUCH =
  "The report takes more than 60 seconds or too much memory, because the run declared so much. Ask for format=brief, or read the bundle at the same address with /artifacts in place of /report.pdf."

/** The report of one run. @param base of the path */
export function reportOf(deps: Deps, base: "/runs" | "/admin/runs", find: RunOfPath): Hono {
  const app = new Hono()
  app.get(`${base}/:id/report.pdf`, async c => {
    const query = readReportQuery(c.req.url)
    const { run_id, owner, bundle } = await find(c, deps)
    return sendReport(c, deps, { run_id, bundle, ...query, caller: owner })
  })
  return app
}

/** A run, and the id of the key whose reports at one time are bounded (0 = anonymous). */
type Reported = Pick<RunRow, "run_id" | "bundle"> & ReturnType<typeof readReportQuery> & { readonly caller: number }

/** Makes and sends a report. @throws HttpError */
export async function sendReport(
  c: Context,
  deps: Deps,
  { run_id, bundle: sealed, format, with: addition, caller }: Reported,
): Promise<Response> {
  const bundle = await shownBundle(deps, sealed, addition)
  const token = await findPublicToken(deps.db, run_id)
  const published = token === undefined ? {} : { public_path: publicBundlePath(token) }
  // The service signs a report, and others read it. So it never names the address that its caller wrote into the request.
  const address = deps.baseUrl === undefined ? {} : { base_url: deps.baseUrl }
  const job = { bundle, format, ...address, ...published, trust: deps.trust }
  const pdf = await deps.renderReport(caller, job).catch((error: unknown) => {
    throw refusalOfJob(error, BUSY, TOO_MUCH)
  })
  return c.body(pdf, 200, {
    "Content-Type": "application/pdf",
    "Content-Disposition": `attachment; filename="${reportFileName(run_id, format)}"`,
  })
}
