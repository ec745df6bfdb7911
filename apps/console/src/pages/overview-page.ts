/** *Overview*: what happened, what is near its limit, and whether the log is well. Each figure leads to its list. */

import { type KeyUsage, type UsageAnswer, usageAnswerSchema } from "@runseal/core/wire/admin-answers"
import { NEAR_SHARE } from "@runseal/core/wire/attention-answer"
import { type DeliveryList, deliveryListSchema } from "@runseal/core/wire/delivery-messages"
import { outsideLogsAnswerSchema } from "@runseal/core/wire/log-answers"
import {
  OVERVIEW_RANGE_DEFAULT,
  OVERVIEW_RANGE_NAMES,
  type OverviewAnswer,
  type OverviewRange,
  overviewAnswerSchema,
} from "@runseal/core/wire/overview-answer"
import { indexAnswerSchema } from "@runseal/core/wire/service-answers"
import { isRefusal, type Refusal } from "../api.ts"
import { attentionCard } from "../parts/attention.ts"
import { address, compact, number, seconds, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { clipped, empty, heading, meter, notice, outcomeLabel, refused } from "../parts/pieces.ts"
import { filterOf, knownFilters, seesAll, show, type Visit } from "../visit.ts"
import { shareOf } from "./budgets-page.ts"
import { witnessesOf } from "./log-page.ts"
import { bar, comparedWith, outcomesCard, overviewCharts, RANGE_NAMES } from "./overview-charts.ts"
import { findRuns, type RunsFound } from "./run-lists.ts"

/** Runs that are listed as the latest. */
const LATEST = 8
/** Budgets that are listed. */
const MAX_BUDGETS = 6

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
  const [index, outside, seen, latest, deployment, attention] = await Promise.all([
    api.get("/", indexAnswerSchema),
    api.get("/log/outside", outsideLogsAnswerSchema),
    witnessesOf(visit),
    findRuns(visit, { texts: {} }, LATEST),
    seesAll(visit) ? deploymentOf(visit, range) : undefined,
    visit.attention(),
  ])
  const backlog = outside.logs.reduce((sum, log) => sum + log.backlog, 0)
  const faults = outside.logs.filter(({ fault }) => fault !== undefined).length
  const figures = html`<ul class="figures-row">
${deployment === undefined ? ownFigure(latest) : deploymentFigures(deployment)}
${figure("Log entries", index.log.size, "/console/log", { note: deployment && grown(deployment.overview) })}
${seen.checkpoint === undefined ? "" : figure("Entries without a witness", Math.max(0, index.log.size - seen.checkpoint.size), "/console/log")}
${outside.logs.length === 0 ? "" : figure("Not yet in outside logs", backlog, "/console/log", faults > 0 ? { tone: "bad" } : {})}
</ul>`
  const runs = html`<section class="card"><h2>Latest runs</h2>${isRefusal(latest) ? refused(latest) : latestRuns(latest)}</section>`
  const body = html`${heading("Overview", undefined, deployment === undefined ? undefined : rangeLinks(range))}${visit.news ?? ""}${visit.session.scope === "anonymous" ? OPEN_MODE : ""}${attentionCard(attention, visit.session)}${figures}
${deployment === undefined ? runs : charts(deployment, runs)}`
  return show(visit, { title: "Overview", body, live: true })
}

const OPEN_MODE = notice(
  "warn",
  html`<p><strong>Open mode:</strong> no key was made yet, and everybody who reaches this service may use it. Make an admin key first; <a href="/">how</a>.</p>`,
)

type FigureMore = { readonly tone?: "bad"; readonly note?: string | undefined }

/** @param note a line below it, in small */
const figure = (label: string, value: number, link: string, { tone, note }: FigureMore = {}): Markup =>
  html`<li class="${tone ?? ""}"><a href="${link}"><span class="big">${compact(value)}</span><span>${label}</span>${note === undefined ? "" : html`<span class="quiet">${note}</span>`}</a></li>`

const grown = ({ steps, range }: OverviewAnswer): string =>
  `${number(steps.reduce((sum, { log_entries }) => sum + log_entries, 0))} in ${RANGE_NAMES[range]}`

const rangeLinks = (range: OverviewRange): Markup =>
  html`<ul class="chips" aria-label="Time">${OVERVIEW_RANGE_NAMES.map(name => html`<li><a href="${address("/console", { range: name })}" ${name === range ? html`aria-current="true"` : ""}>${RANGE_NAMES[name]}</a></li>`)}</ul>`

/** A customer's own runs. */
const ownFigure = (latest: RunsFound | Refusal): Markup | "" =>
  isRefusal(latest) || latest.total === undefined ? "" : figure("Runs", latest.total, "/console/runs")

/** Where the first step of an overview begins. */
const beginOf = ({ steps }: OverviewAnswer): string => steps[0]?.from ?? ""

function deploymentFigures({ usage, overview, deliveries }: Deployment): Markup {
  const runs = overview.steps.reduce((sum, step) => sum + step.runs, 0)
  const tokens = overview.steps.reduce((sum, step) => sum + step.tokens, 0)
  const permits = usage.keys.reduce((sum, { open_permits }) => sum + open_permits, 0)
  return html`${figure(`Runs in ${RANGE_NAMES[overview.range]}`, runs, address("/console/runs", { from: beginOf(overview) }), { note: comparedWith(runs, overview.previous.runs) })}
${figure(`Tokens in ${RANGE_NAMES[overview.range]}`, tokens, "/console/budgets", { note: comparedWith(tokens, overview.previous.tokens) })}
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
    failing > 0 ? { tone: "bad" } : {},
  )
}

function charts({ usage, overview }: Deployment, latest: Markup): Markup {
  const from = beginOf(overview)
  return html`${overviewCharts(overview)}
<div class="cards">${outcomesCard(overview)}
<section class="card"><h2>Denied by</h2>${deniedBars(overview, from)}<p><a href="/console/policies">Policies</a></p></section>
${budgets(usage.keys)}
${latest}
</div>`
}

function latestRuns({ runs }: RunsFound): Markup {
  if (runs.length === 0) return empty("No run was made yet.", html`<a href="/docs">Send the first one</a>`)
  return html`<ul class="latest">${runs.map(run => html`<li><a href="/console/runs/${run.id}">${run.id}</a> ${outcomeLabel(run)} ${clipped(run.route_id)} <span class="quiet nowrap">${shortTime(run.created_at)}</span></li>`)}</ul><p><a href="/console/runs">All runs</a></p>`
}

/** The fullest windows. */
function budgets(keys: readonly KeyUsage[]): Markup {
  const sorted = [...keys].sort((a, b) => shareOf(b) - shareOf(a))
  // A cap of 0 is meant.
  const from = (share: number): number => keys.filter(key => key.window.cap > 0 && shareOf(key) >= share).length
  const full = from(1)
  const near = from(NEAR_SHARE) - full
  const shown = sorted.filter(({ window }) => window.total > 0).slice(0, MAX_BUDGETS)
  const rows = shown.map(
    ({ key_id, name, window }) =>
      html`<li><a href="${address("/console/runs", { key: key_id, from: window.window_start })}">${clipped(name)}</a>${meter(`Window of ${name}`, window.total, window.cap)}</li>`,
  )
  return html`<section class="card"><h2>Budgets</h2><p>${full + near === 0 ? "No window is nearly full." : html`<strong>${number(full)} full</strong>, ${number(near)} nearly full.`}</p>${rows.length === 0 ? "" : html`<ul class="plain-list meters">${rows}</ul>`}<p><a href="/console/budgets">All budgets</a></p></section>`
}

/** The rules and signatures that denied the most runs, as bars that lead to their lists. */
function deniedBars({ denied_by }: OverviewAnswer, from: string): Markup {
  if (denied_by.length === 0) return html`<p>No run was denied in this time.</p>`
  const most = Math.max(...denied_by.map(({ runs }) => runs))
  return html`<ul class="bars">${denied_by.map(({ rule_id, runs }) => html`<li><a href="${address("/console/runs", { status: "pepg_deny", rule_id, from })}">${clipped(rule_id)}${bar(runs / most, "deny")}<span class="figure">${compact(runs)}</span></a></li>`)}</ul>`
}
