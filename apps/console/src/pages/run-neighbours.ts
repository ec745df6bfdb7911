/** The runs before and after one, of those that the visitor sees. */
import { isRefusal } from "../api.ts"
import { html, type Markup } from "../parts/markup.ts"
import { seesAll, type Visit } from "../visit.ts"
import { findRuns } from "./run-lists.ts"

/** Links to the run before, and to the run that was made next, where that is the visitor's too. */
export async function neighbours(visit: Visit, id: number): Promise<Markup> {
  const later = `${seesAll(visit) ? "/admin/runs" : "/runs"}/${id + 1}`
  const [before, after] = await Promise.all([
    findRuns(visit, { texts: {}, before: `${id}` }, 1),
    visit.api.send("GET", later),
  ])
  await after.body?.cancel()
  const earlier = isRefusal(before) ? undefined : before.runs[0]?.id
  return html`<nav class="neighbours" aria-label="Runs before and after">
${earlier === undefined ? "" : html`<a rel="prev" href="/console/runs/${earlier}">← Run ${earlier}</a>`}
${after.status === 200 ? html`<a rel="next" href="/console/runs/${id + 1}">Run ${id + 1} →</a>` : ""}
</nav>`
}
