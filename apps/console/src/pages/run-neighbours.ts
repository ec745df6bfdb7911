/** The runs beside one, in the list that led to it. */
import { adminRunsPageSchema } from "@runseal/core/wire/admin-answers"
import { runsPageSchema } from "@runseal/core/wire/run-summaries"
import { isRefusal } from "../api.ts"
import { address } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { seesAll, type Visit } from "../visit.ts"
import { apiParameters, type RunView, viewParameters } from "./run-lists.ts"

const LIST = "/console/runs"

/** A number, none, or not known: the service refused to answer, which must not be read as that there is none. */
type NextRun = number | undefined | "unknown"

/** The next run of a view before one, or after it. */
async function nextRun(visit: Visit, view: RunView, place: "before" | "after", id: number): Promise<NextRun> {
  const parameters = { ...apiParameters(view), [place]: id, limit: 1 }
  const found = seesAll(visit)
    ? await visit.api.ask(address("/admin/runs", parameters), adminRunsPageSchema)
    : await visit.api.ask(address("/runs/search", parameters), runsPageSchema)
  return isRefusal(found) ? "unknown" : found.runs[0]?.id
}

/** Back to the list, and to the runs beside this one in it. */
export async function neighbours(visit: Visit, view: RunView, id: number): Promise<Markup> {
  const [older, newer] = await Promise.all([nextRun(visit, view, "before", id), nextRun(visit, view, "after", id)])
  const filters = viewParameters(view)
  const isFiltered = Object.values(filters).some(value => value !== undefined)
  const way = (to: NextRun, rel: "prev" | "next", text: string): Markup =>
    typeof to !== "number"
      ? html`<span class="quiet">${text}${to === "unknown" ? " could not be looked up" : ""}</span>`
      : html`<a rel="${rel}" href="${address(`${LIST}/${to}`, filters)}">${text} <span class="count">${to}</span></a>`
  return html`<nav class="ways" aria-label="Runs beside this one"><span class="back"><a href="${address(LIST, filters)}">${isFiltered ? "Runs of this search" : "Runs"}</a></span><span class="beside">${way(newer, "prev", "Newer run")}${way(older, "next", "Older run")}</span></nav>`
}
