/** *Overview*: what happened, what is near its limit, and whether the log is well. Each figure leads to its list. */

import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
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
import { clipped, empty, heading, meter, notice, outcomeLabel, refused, table } from "../parts/pieces.ts"
import { OUTCOME_NAMES, toneOf } from "../parts/run-words.ts"
import { filterOf, knownFilters, seesAll, show, type Visit } from "../visit.ts"
import { shareOf } from "./budgets-page.ts"
import { witnessesOf } from "./log-page.ts"
import { findRuns, type RunsFound } from "./run-lists.ts"

/** Runs that are listed as the latest. */
const LATEST = 8
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
${figure("Log entries", index.log.size, "/console/log")}
${seen.checkpoint === undefined ? "" : figure("Entries without a witness", Math.max(0, index.log.size - seen.checkpoint.size), "/console/log")}
${outside.logs.length === 0 ? "" : figure("Not yet in outside logs", backlog, "/console/log", faults > 0 ? "bad" : undefined)}
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

// The charts of the overview, as SVG. Each has its figures in a table beside it, for those who do not see it.

type Steps = OverviewAnswer["steps"]
type Step = Steps[number]

const WIDTH = 640
const HEIGHT = 150
/** Above the columns, for the number of the highest. */
const TOP = 16
/** Of a step, the part that its column fills. */
const FILLED = 0.78

/** Drawn from below: what passed first, what failed on top. */
const TONES = ["good", "warn", "bad"] as const
type Tone = (typeof TONES)[number]

const TONE_NAMES: Readonly<Record<Tone, string>> = { good: "Passed", warn: "Refused", bad: "Failed" }

const LEGEND = html`<ul class="legend">${TONES.map(tone => html`<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" class="fill ${tone}"/></svg> ${TONE_NAMES[tone]}</li>`)}</ul>`

const runsOf = ({ outcomes }: Step, tone: Tone): number =>
  OUTCOME_KINDS.reduce((sum, kind) => (toneOf(kind) === tone ? sum + outcomes[kind] : sum), 0)

/** Where the runs of a step are: the list holds its last millisecond, and the first one of the next step is not in it. */
const listOf = ({ from }: Step, step_seconds: number): string =>
  address("/console/runs", { from, to: new Date(Date.parse(from) + step_seconds * 1000 - 1).toISOString() })

/** Runs of each step, one column a step. Its links are for a pointer; the table has the same. */
function outcomesChart({ steps, step_seconds }: OverviewAnswer): Markup {
  const most = Math.max(1, ...steps.map(({ runs }) => runs))
  const each = WIDTH / steps.length
  const column = (step: Step, i: number): Markup => {
    let y = HEIGHT
    const parts = TONES.map(tone => {
      const height = (runsOf(step, tone) / most) * (HEIGHT - TOP)
      y -= height
      return height === 0
        ? ""
        : html`<rect x="${(i * each + (each * (1 - FILLED)) / 2).toFixed(2)}" y="${y.toFixed(2)}" width="${(each * FILLED).toFixed(2)}" height="${height.toFixed(2)}" class="fill ${tone}"/>`
    })
    return html`<a href="${listOf(step, step_seconds)}" tabindex="-1"><title>${step.from.slice(0, 16).replace("T", " ")} UTC: ${number(step.runs)}</title><rect x="${(i * each).toFixed(2)}" y="0" width="${each.toFixed(2)}" height="${HEIGHT}" class="hover"/>${parts}</a>`
  }
  const rows = steps
    .filter(({ runs }) => runs > 0)
    .map(
      step =>
        html`<tr><td class="nowrap"><a href="${listOf(step, step_seconds)}">${shortTime(step.from)}</a></td>${TONES.map(tone => html`<td class="figure">${number(runsOf(step, tone))}</td>`)}<td class="figure">${number(step.log_entries)}</td></tr>`,
    )
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT + 16}" aria-hidden="true"><line x1="0" x2="${WIDTH}" y1="${TOP}" y2="${TOP}" class="grid"/><line x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}" class="grid"/><text x="0" y="${TOP - 4}">${number(most)}</text>${steps.map(column)}<text x="0" y="${HEIGHT + 13}">${dayOf(steps[0])}</text><text x="${WIDTH}" y="${HEIGHT + 13}" text-anchor="end">${dayOf(steps.at(-1))}</text></svg>
${LEGEND}<details><summary>Figures</summary>${rows.length === 0 ? html`<p>There were no runs.</p>` : table("Runs over time", ["From (UTC)", ...TONES.map(tone => TONE_NAMES[tone]), "Log entries"], rows)}</details>`
}

const dayOf = (step: Step | undefined): string => (step === undefined ? "" : step.from.slice(0, 16).replace("T", " "))

/** How the log grew, as a line. */
function growthChart({ steps }: OverviewAnswer): Markup {
  const most = Math.max(1, ...steps.map(({ log_entries }) => log_entries))
  const points = steps.map(
    ({ log_entries }, i) =>
      `${((i * 100) / Math.max(1, steps.length - 1)).toFixed(2)},${(30 - (28 * log_entries) / most).toFixed(2)}`,
  )
  return html`<svg class="growth" viewBox="0 0 100 31" preserveAspectRatio="none" aria-hidden="true"><polyline points="${points.join(" ")}"/></svg>`
}

/** A bar that leads to its list. */
type Bar = { readonly name: string; readonly runs: number; readonly link: string; readonly tone: Tone }

function bars(items: readonly Bar[]): Markup {
  const most = Math.max(1, ...items.map(({ runs }) => runs))
  const item = ({ name, runs, link, tone }: Bar): Markup =>
    html`<li><a href="${link}">${clipped(name)}<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="10" class="track"/><rect width="${((100 * runs) / most).toFixed(2)}" height="10" class="fill ${tone}"/></svg><span class="figure">${compact(runs)}</span></a></li>`
  return html`<ul class="bars">${items.map(item)}</ul>`
}

/** The runs of all steps by outcome. */
const outcomeBars = ({ steps }: OverviewAnswer, from: string): Markup =>
  bars(
    OUTCOME_KINDS.map((kind: OutcomeKind) => ({
      name: OUTCOME_NAMES[kind],
      runs: steps.reduce((sum, { outcomes }) => sum + outcomes[kind], 0),
      link: address("/console/runs", { status: kind, from }),
      tone: toneOf(kind),
    })),
  )
