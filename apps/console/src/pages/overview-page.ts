/** *Overview*: what happened, what is near its limit, and whether the log is well. Each figure leads to its list. */
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { type KeyUsage, type UsageAnswer, usageAnswerSchema } from "@runseal/core/wire/admin-answers"
import { outsideLogsAnswerSchema } from "@runseal/core/wire/log-answers"
import { indexAnswerSchema, readyAnswerSchema } from "@runseal/core/wire/service-answers"
import { html } from "hono/html"
import { isRefusal } from "../api.ts"
import { address, compact, type Markup, plural, shortTime } from "../parts/format.ts"
import { outcomeLabel } from "../parts/outcome.ts"
import { OUTCOME_NAMES, toneOf } from "../parts/outcome-names.ts"
import { empty, heading, meter, notice, refused } from "../parts/pieces.ts"
import { seesAll, show, type Visit } from "../visit.ts"
import { shareOf } from "./budgets-page.ts"
import { findRuns, type RunsFound } from "./run-source.ts"

/** Runs that are listed as the latest. */
const LATEST = 8
/** A window is near its cap from this share on. */
const NEAR = 0.8
/** Budgets that are listed. */
const MAX_BUDGETS = 6

export async function overviewPage(visit: Visit): Promise<Response> {
  const { api } = visit
  const [index, ready, outside, usage, latest] = await Promise.all([
    api.get("/", indexAnswerSchema),
    api.ask("/ready", readyAnswerSchema),
    api.get("/log/outside", outsideLogsAnswerSchema),
    seesAll(visit) ? api.get("/admin/usage", usageAnswerSchema) : undefined,
    findRuns(visit, { texts: {} }, LATEST),
  ])
  const backlog = outside.logs.reduce((sum, log) => sum + log.backlog, 0)
  const faults = outside.logs.filter(({ fault }) => fault !== undefined).length
  const permits = usage?.keys.reduce((sum, { open_permits }) => sum + open_permits, 0)
  const figures = html`<ul class="figures-row">
${usage === undefined ? "" : figure("Runs", runsOf(usage), "/console/runs")}
${permits === undefined ? "" : figure("Open permits", permits, address("/console/permits", { state: "open" }))}
${figure("Log entries", index.log.size, "/console/log")}
${outside.logs.length === 0 ? "" : figure("Not yet in outside logs", backlog, "/console/log", faults > 0 ? "bad" : undefined)}
</ul>`
  const body = html`${heading("Overview")}${isRefusal(ready) ? notice("bad", ready.error) : ""}${visit.session.scope === "anonymous" ? OPEN_MODE : ""}${figures}
<div class="columns"><div>${usage === undefined ? "" : outcomes(usage)}<section class="card"><h2>Latest runs</h2>${isRefusal(latest) ? refused(latest) : latestRuns(latest)}</section></div>
<div>${usage === undefined ? "" : budgets(usage.keys)}</div></div>`
  return show(visit, { title: "Overview", body })
}

const OPEN_MODE = notice(
  "warn",
  html`<p><strong>Open mode:</strong> no key was made yet, and everybody who reaches this service may use it. Make an admin key first; <a href="/">how</a>.</p>`,
)

const runsOf = ({ keys }: UsageAnswer): number => keys.reduce((sum, { runs }) => sum + runs, 0)

const figure = (label: string, value: number, link: string, tone?: "bad"): Markup =>
  html`<li class="${tone ?? ""}"><a href="${link}"><span class="big">${compact(value)}</span><span>${label}</span></a></li>`

/** All runs by outcome, as bars. The table of numbers is the links themselves. */
function outcomes(usage: UsageAnswer): Markup {
  const count = (kind: OutcomeKind): number => usage.keys.reduce((sum, key) => sum + key.outcomes[kind], 0)
  const most = Math.max(1, ...OUTCOME_KINDS.map(count))
  const rows = OUTCOME_KINDS.map(kind => {
    const runs = count(kind)
    const width = ((100 * runs) / most).toFixed(2)
    return html`<li><a href="${address("/console/runs", { status: kind })}"><span>${OUTCOME_NAMES[kind]}</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="10" class="track"/><rect width="${width}" height="10" class="fill ${toneOf(kind)}"/></svg><span class="figure">${compact(runs)}</span></a></li>`
  })
  return html`<section class="card"><h2>Outcomes, all time</h2><ul class="bars">${rows}</ul></section>`
}

function latestRuns({ runs }: RunsFound): Markup {
  if (runs.length === 0) return empty("No run was made yet.", html`<a href="/docs">Send the first one</a>`)
  return html`<ul class="latest">${runs.map(({ id, outcome_kind, route_id, created_at }) => html`<li><a href="/console/runs/${id}">${id}</a> ${outcomeLabel(outcome_kind)} <span class="long">${route_id}</span> <span class="quiet nowrap">${shortTime(created_at)}</span></li>`)}</ul><p><a href="/console/runs">All runs</a></p>`
}

/** The fullest windows. */
function budgets(keys: readonly KeyUsage[]): Markup {
  const sorted = [...keys].sort((a, b) => shareOf(b) - shareOf(a))
  const near = sorted.filter(key => shareOf(key) >= NEAR).length
  const shown = sorted.filter(({ window }) => window.total > 0).slice(0, MAX_BUDGETS)
  const rows = shown.map(
    ({ key_id, name, window }) =>
      html`<li><a href="${address("/console/runs", { key: key_id })}">${name}</a>${meter(`Window of ${name}`, window.total, window.cap)}</li>`,
  )
  return html`<section class="card"><h2>Budgets</h2><p>${near === 0 ? "No window is near its cap." : html`<strong>${plural(near, "window")}</strong> at 80 % of the cap or more.`}</p>${rows.length === 0 ? "" : html`<ul class="plain-list meters">${rows}</ul>`}<p><a href="/console/budgets">All budgets</a></p></section>`
}
