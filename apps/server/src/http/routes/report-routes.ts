/** The audit report of a run. docs/api.md, "GET /runs/{id}/report.pdf". */
import type { ReportQuery } from "@runseal/api/queries"
import { isRefused } from "@runseal/core/vocabulary/outcomes"
import { REPORT_FORMAT_DEFAULT } from "@runseal/core/wire/run-summaries"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { reportFileName } from "../../report/subject.ts"
import { findPublicToken } from "../../store/tables/publications-table.ts"
import type { RunRow } from "../../store/tables/runs-table.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { publicBundlePath } from "./addresses.ts"
import { refusalOfJob } from "./job-refusal.ts"
import type { RunOfPath } from "./own-run.ts"
import { seesRules } from "./run-answer.ts"
import { storedRecord } from "./run-views.ts"
import { shownBundle } from "./shown-bundle.ts"

const BUSY = "The report cannot be made now: too many are being made. Try again."
const TOO_MUCH =
  "The report takes more than 60 seconds or too much memory, because the run declared so much. Ask for format=brief, or read the bundle at the same address with /artifacts in place of /report.pdf."

/** The report of one run. */
export function reportOf(deps: Deps, find: RunOfPath): Handlers {
  return {
    report: async (c, { query }) => {
      const asked = query()
      const run = await find(c, deps)
      return sendReport(c, deps, run, { ...asked, caller: run.owner, seesRules: seesRules(c, deps) })
    },
  }
}

/** What a report is asked for with. */
type Asked = ReportQuery & {
  /** Id of the key whose reports at one time are bounded (0 = anonymous). */
  readonly caller: number
  /** Whether who reads it is shown what the policy says of a refusal. */
  readonly seesRules: boolean
}

/** Makes and sends a report. @throws HttpError */
export async function sendReport(
  c: Context,
  deps: Deps,
  run: Pick<RunRow, "run_id" | "bundle" | "outcome_kind">,
  { format = REPORT_FORMAT_DEFAULT, with: addition, caller, seesRules }: Asked,
): Promise<Response> {
  const { run_id } = run
  const bundle = await shownBundle(deps, run.bundle, addition)
  const refusal = isRefused(run.outcome_kind) ? await deps.policies.explain(storedRecord(run), seesRules) : undefined
  const why = refusal === undefined ? {} : { explanation: refusal.explanation }
  const token = await findPublicToken(deps.db, run_id)
  const published = token === undefined ? {} : { public_path: publicBundlePath(token) }
  // The service signs a report, and others read it. So it never names the address that its caller wrote into the request.
  const address = deps.baseUrl === undefined ? {} : { base_url: deps.baseUrl }
  const job = { bundle, format, ...address, ...published, ...why, trust: deps.trust }
  const pdf = await deps.renderReport(caller, job).catch((error: unknown) => {
    throw refusalOfJob(error, BUSY, TOO_MUCH)
  })
  return c.body(pdf, 200, {
    "Content-Type": "application/pdf",
    "Content-Disposition": `attachment; filename="${reportFileName(run_id, format)}"`,
  })
}
