/** Where lists of runs come from: a customer searches its own runs, everybody else those of the deployment. */
import { adminRunsPageSchema } from "@runseal/core/wire/admin-answers"
import { type RunSummary, runsPageSchema } from "@runseal/core/wire/run-summaries"
import type { Refusal } from "../api.ts"
import { isRefusal } from "../api.ts"
import { address } from "../parts/format.ts"
import { seesAll, type Visit } from "../visit.ts"
import { ownPage } from "./own-pages.ts"
import { type RunView, viewParameters } from "./run-filters.ts"

export type ListedRun = RunSummary & { readonly key_id?: number }

export type RunsFound = {
  readonly runs: readonly ListedRun[]
  /** `before` of the next page; absent from the last. */
  readonly next?: string
  /** All that were found, where the API counts them. */
  readonly total?: number
}

/** A page of a view. @param limit 1 to 500. @param total of the page before, if it was read just now */
export async function findRuns(
  visit: Visit,
  view: RunView,
  limit: number,
  total?: number,
): Promise<RunsFound | Refusal> {
  return seesAll(visit) ? await ofDeployment(visit, view, limit) : await ofCustomer(visit, view, limit, total)
}

async function ofDeployment({ api }: Visit, view: RunView, limit: number): Promise<RunsFound | Refusal> {
  const path = address("/admin/runs", { ...viewParameters(view), before: view.before, limit })
  const found = await api.ask(path, adminRunsPageSchema)
  if (isRefusal(found)) return found
  return { runs: found.runs, ...(found.next === undefined ? {} : { next: `${found.next}` }) }
}

async function ofCustomer(
  { api }: Visit,
  view: RunView,
  limit: number,
  total: number | undefined,
): Promise<RunsFound | Refusal> {
  const place = { before: view.before, limit, ...(total === undefined ? {} : { total }) }
  const found = await ownPage(place, async (offset, some) => {
    const path = address("/runs/search", { ...viewParameters(view), limit: some, offset })
    const page = await api.ask(path, runsPageSchema)
    return isRefusal(page) ? page : { total: page.total, rows: page.runs }
  })
  if (isRefusal(found)) return found
  const { rows, ...counted } = found
  return { runs: rows, ...counted }
}
