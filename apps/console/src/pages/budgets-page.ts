/** *Budgets*: what each key has used of its window. */
import { type KeyUsage, usageAnswerSchema } from "@runseal/core/wire/admin-answers"
import { asks } from "@runseal/core/wire/key-requests"
import { address, number, seconds, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { clipped, empty, heading, meter, table } from "../parts/pieces.ts"
import { show, type Visit } from "../visit.ts"

/** How full a window is; of a window without tokens full. */
export const shareOf = ({ window: { total, cap } }: KeyUsage): number => (cap === 0 ? 1 : total / cap)

/** When a window ends. */
const windowEnd = ({ window: { window_start, window_seconds } }: KeyUsage): string =>
  new Date(Date.parse(window_start) + window_seconds * 1000).toISOString()

/** Keys that read and decide have no runs of their own. */
const spends = ({ scope }: KeyUsage): boolean => scope === undefined || asks(scope)

const row = (usage: KeyUsage): Markup => {
  const { key_id, name, runs, open_permits, trial, window } = usage
  const ofWindow = address("/console/runs", { key: key_id, from: window.window_start })
  return html`<tr><td class="long"><a href="${ofWindow}">${clipped(name)}</a></td><td class="wide">${meter(`Window of ${name}`, window.total, window.cap)}</td><td class="figure"><a href="${ofWindow}">${number(window.runs)}</a></td><td class="nowrap">${shortTime(windowEnd(usage))}</td><td class="figure"><a href="${address("/console/permits", { key: key_id, state: "open" })}">${number(open_permits)}</a></td><td class="figure"><a href="${address("/console/runs", { key: key_id })}">${number(runs)}</a></td><td class="figure">${trial === undefined ? "" : number(trial.left)}</td></tr>`
}

export async function budgetsPage(visit: Visit): Promise<Response> {
  const { keys } = await visit.api.get("/admin/usage", usageAnswerSchema)
  const sorted = keys.filter(spends).toSorted((a, b) => shareOf(b) - shareOf(a))
  const length = keys[0]?.window.window_seconds
  const body = html`${heading("Budgets", html`Tokens charged and reserved in the present window${length === undefined ? "" : html` of ${seconds(length)}`}. The fullest first; a name leads to the runs of its window. A run that would reach the cap is halted.`)}
${sorted.length === 0 ? empty("No key has used anything yet.") : table("Budgets", ["Key", "Window", "Runs in it", "Ends (UTC)", "Open permits", "All runs", "Trial runs left"], sorted.map(row))}`
  return show(visit, { title: "Budgets", body, live: true })
}
