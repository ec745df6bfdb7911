/** *Overview*: what happened, what is near its limit, and whether the log is well. Each figure leads to its list. */
import { type KeyUsage, type UsageAnswer, usageAnswerSchema } from "@runseal/core/wire/admin-answers"
import { type DeliveryList, deliveryListSchema } from "@runseal/core/wire/delivery-messages"
import { outsideLogsAnswerSchema } from "@runseal/core/wire/log-answers"
import {
  OVERVIEW_RANGE_DEFAULT,
  OVERVIEW_RANGE_NAMES,
  type OverviewAnswer,
  type OverviewRange,
  overviewAnswerSchema,
} from "@runseal/core/wire/overview-answer"
import { indexAnswerSchema, readyAnswerSchema } from "@runseal/core/wire/service-answers"
import { isRefusal, type Refusal } from "../api.ts"
import { address, compact, number, plural, seconds, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { outcomeLabel } from "../parts/outcome.ts"
import { clipped, empty, heading, meter, notice, refused } from "../parts/pieces.ts"
import { filterOf, knownFilters, seesAll, show, type Visit } from "../visit.ts"
import { shareOf } from "./budgets-page.ts"
import { witnessesOf } from "./log-page.ts"
import { bars, growthChart, outcomeBars, outcomesChart } from "./overview-charts.ts"
import { findRuns, type RunsFound } from "./run-source.ts"

/** Runs that are listed as the latest. */
const LATEST = 8
/** A window is near its cap from this share on. */
const NEAR = 0.8
/** Budgets that are listed. */
const MAX_BUDGETS = 6

const RANGE_NAMES: Readonly<Record<OverviewRange, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
}

/** What the whole deployment shows. Deliveries are refused to an auditor of named keys. */
type Deployment = {
  readonly usage: UsageAnswer
  readonly overview: OverviewAnswer
  readonly deliveries: DeliveryList | Refusal
}

async function deploymentOf({ api }: Visit, range: OverviewRange): Promise<Deployment> {
  const [usage, overview, deliveries] = await Promise.all([
    api.get("/admin/usage", usageAnswerSchema),
    api.get(address("/admin/overview", { range }), overviewAnswerSchema),
    api.ask("/admin/deliveries", deliveryListSchema),
  ])
  return { usage, overview, deliveries }
}

export async function overviewPage(visit: Visit): Promise<Response> {
  const { api } = visit
  knownFilters(visit.c, ["range"])
  const range = filterOf(visit.c, "range", OVERVIEW_RANGE_NAMES) ?? OVERVIEW_RANGE_DEFAULT
  const [index, ready, outside, seen, latest, deployment] = await Promise.all([
    api.get("/", indexAnswerSchema),
    api.ask("/ready", readyAnswerSchema),
    api.get("/log/outside", outsideLogsAnswerSchema),
    witnessesOf(visit),
    findRuns(visit, { texts: {} }, LATEST),
    seesAll(visit) ? deploymentOf(visit, range) : undefined,
  ])
  const backlog = outside.logs.reduce((sum, log) => sum + log.backlog, 0)
  const faults = outside.logs.filter(({ fault }) => fault !== undefined).length
  const figures = html`<ul class="figures-row">
${deployment === undefined ? ownFigure(latest) : deploymentFigures(deployment)}
${figure("Log entries", index.log.size, "/console/log")}
${seen.checkpoint === undefined ? "" : figure("Entries without a witness", Math.max(0, index.log.size - seen.checkpoint.size), "/console/log")}
${outside.logs.length === 0 ? "" : figure("Not yet in outside logs", backlog, "/console/log", faults > 0 ? "bad" : undefined)}
</ul>`
  const runs = html`<section class="card"><h2>Latest runs</h2>${isRefusal(latest) ? refused(latest) : latestRuns(latest)}</section>`
  const body = html`${heading("Overview", undefined, deployment === undefined ? undefined : rangeLinks(range))}${isRefusal(ready) ? notice("bad", ready.error) : ""}${visit.session.scope === "anonymous" ? OPEN_MODE : ""}${figures}
${deployment === undefined ? runs : charts(deployment, runs)}`
  return show(visit, { title: "Overview", body })
}

const OPEN_MODE = notice(
  "warn",
  html`<p><strong>Open mode:</strong> no key was made yet, and everybody who reaches this service may use it. Make an admin key first; <a href="/">how</a>.</p>`,
)

const figure = (label: string, value: number, link: string, tone?: "bad"): Markup =>
  html`<li class="${tone ?? ""}"><a href="${link}"><span class="big">${compact(value)}</span><span>${label}</span></a></li>`

const rangeLinks = (range: OverviewRange): Markup =>
  html`<ul class="chips" aria-label="Time">${OVERVIEW_RANGE_NAMES.map(name => html`<li><a href="${address("/console", { range: name })}" ${name === range ? html`aria-current="true"` : ""}>${RANGE_NAMES[name]}</a></li>`)}</ul>`

/** A customer's own runs. */
const ownFigure = (latest: RunsFound | Refusal): Markup | "" =>
  isRefusal(latest) || latest.total === undefined ? "" : figure("Runs", latest.total, "/console/runs")

/** Where the first step of an overview begins. */
const beginOf = ({ steps }: OverviewAnswer): string => steps[0]?.from ?? ""

function deploymentFigures({ usage, overview, deliveries }: Deployment): Markup {
  const runs = overview.steps.reduce((sum, step) => sum + step.runs, 0)
  const permits = usage.keys.reduce((sum, { open_permits }) => sum + open_permits, 0)
  return html`${figure(`Runs in ${RANGE_NAMES[overview.range]}`, runs, address("/console/runs", { from: beginOf(overview) }))}
${figure("Open permits", permits, address("/console/permits", { state: "open" }))}
${isRefusal(deliveries) || deliveries.deliveries.length === 0 ? "" : deliveryFigure(deliveries)}`
}

/** The receiver that is the furthest behind. */
function deliveryFigure({ deliveries }: DeliveryList): Markup {
  const failing = deliveries.filter(({ active, last_error }) => active && last_error !== undefined).length
  const lag = Math.max(...deliveries.map(({ lag_seconds }) => lag_seconds))
  const [value, label] =
    failing > 0
      ? [failing, failing === 1 ? "Receiver fails" : "Receivers fail"]
      : [deliveries.length, deliveries.length === 1 ? "Receiver of events" : "Receivers of events"]
  return figure(
    lag === 0 ? label : `${label}, ${seconds(lag)} behind`,
    value,
    "/console/deliveries",
    failing > 0 ? "bad" : undefined,
  )
}

function charts({ usage, overview }: Deployment, latest: Markup): Markup {
  const from = beginOf(overview)
  const denied = overview.denied_by.map(({ rule_id, runs }) => {
    const link = address("/console/runs", { status: "pepg_deny", rule_id, from })
    return { name: rule_id, runs, link, tone: "warn" as const }
  })
  const grown = overview.steps.reduce((sum, { log_entries }) => sum + log_entries, 0)
  return html`<section class="card"><h2>Runs over time</h2>${outcomesChart(overview)}</section>
<div class="columns"><div>
<section class="card"><h2>Outcomes</h2>${outcomeBars(overview, from)}</section>
${latest}
</div><div>
<section class="card"><h2>Denied by</h2>${denied.length === 0 ? html`<p>No run was denied in this time.</p>` : bars(denied)}<p><a href="/console/policies">Policies</a></p></section>
${budgets(usage.keys)}
<section class="card"><h2>The log grew</h2><p><strong>${number(grown)}</strong> entries in ${RANGE_NAMES[overview.range]}.</p>${growthChart(overview)}<p><a href="/console/log">Log health</a></p></section>
</div></div>`
}

function latestRuns({ runs }: RunsFound): Markup {
  if (runs.length === 0) return empty("No run was made yet.", html`<a href="/docs">Send the first one</a>`)
  return html`<ul class="latest">${runs.map(run => html`<li><a href="/console/runs/${run.id}">${run.id}</a> ${outcomeLabel(run)} ${clipped(run.route_id)} <span class="quiet nowrap">${shortTime(run.created_at)}</span></li>`)}</ul><p><a href="/console/runs">All runs</a></p>`
}

/** The fullest windows. */
function budgets(keys: readonly KeyUsage[]): Markup {
  const sorted = [...keys].sort((a, b) => shareOf(b) - shareOf(a))
  const near = sorted.filter(key => shareOf(key) >= NEAR).length
  const shown = sorted.filter(({ window }) => window.total > 0).slice(0, MAX_BUDGETS)
  const rows = shown.map(
    ({ key_id, name, window }) =>
      html`<li><a href="${address("/console/runs", { key: key_id, from: window.window_start })}">${clipped(name)}</a>${meter(`Window of ${name}`, window.total, window.cap)}</li>`,
  )
  return html`<section class="card"><h2>Budgets</h2><p>${near === 0 ? "No window is near its cap." : html`<strong>${plural(near, "window")}</strong> at 80 % of the cap or more.`}</p>${rows.length === 0 ? "" : html`<ul class="plain-list meters">${rows}</ul>`}<p><a href="/console/budgets">All budgets</a></p></section>`
}
