/** *Runs*: a list with filters. */
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { type UsageAnswer, usageAnswerSchema } from "@runseal/core/wire/admin-answers"
import { isRefusal } from "../api.ts"
import { address, number, plural, shortTime } from "../parts/format.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { clipped, empty, heading, outcomeLabel, refused, table } from "../parts/pieces.ts"
import { duration, OUTCOME_NAMES, whyOf } from "../parts/run-words.ts"
import { seesAll, show, type Visit } from "../visit.ts"
import {
  findRuns,
  type ListedRun,
  type RunsFound,
  type RunView,
  readView,
  TEXT_FILTERS,
  viewParameters,
} from "./run-lists.ts"

const PATH = "/console/runs"
const PAGE_SIZE = 50
/** Filters that are shown before "More filters". */
const SHOWN_FILTERS = 3

/** How many runs there are of each outcome: of a key, or of the deployment. With another filter nobody has counted them. */
type Counts = Readonly<Record<OutcomeKind, number>>

async function countsOf(
  visit: Visit,
  { key, texts }: RunView,
): Promise<{ counts?: Counts; names: ReadonlyMap<number, string> }> {
  if (!seesAll(visit)) return { names: new Map() }
  const usage = await visit.api.ask("/admin/usage", usageAnswerSchema)
  if (isRefusal(usage)) return { names: new Map() }
  const names = new Map(usage.keys.map(({ key_id, name }) => [key_id, name]))
  return Object.keys(texts).length > 0 ? { names } : { counts: sumOf(usage, key), names }
}

function sumOf({ keys }: UsageAnswer, key: string | undefined): Counts {
  const sum: Record<OutcomeKind, number> = {
    ok: 0,
    pepg_deny: 0,
    ccv_halt: 0,
    macc_halt: 0,
    aivp_t4_halt: 0,
    attestation_gap: 0,
    stage_error: 0,
  }
  for (const { key_id, outcomes } of keys)
    if (key === undefined || key === `${key_id}`) for (const kind of OUTCOME_KINDS) sum[kind] += outcomes[kind]
  return sum
}

/** Outcomes as links, each with its number. */
function outcomeFilter(view: RunView, counts: Counts | undefined): Markup {
  const link = (status: OutcomeKind | undefined, text: string, count: number | undefined): Markup =>
    html`<li><a href="${address(PATH, { ...viewParameters(view), status })}" ${view.status === status ? html`aria-current="true"` : ""}>${text}${count === undefined ? "" : html` <span class="count">${number(count)}</span>`}</a></li>`
  const all = counts === undefined ? undefined : Object.values(counts).reduce((sum, count) => sum + count, 0)
  return html`<ul class="chips" aria-label="Outcome">${link(undefined, "All", all)}${OUTCOME_KINDS.map(kind => link(kind, OUTCOME_NAMES[kind], counts?.[kind]))}</ul>`
}

function filterForm(view: RunView, names: ReadonlyMap<number, string>): Markup {
  const field = ({ name, label, hint }: (typeof TEXT_FILTERS)[number]): Markup =>
    html`<label>${label}<input name="${name}" value="${verbatim(view.texts[name] ?? "")}" placeholder="${hint}" autocomplete="off" spellcheck="false"></label>`
  const hidden = TEXT_FILTERS.slice(SHOWN_FILTERS)
  const isOpen = hidden.some(({ name }) => view.texts[name] !== undefined)
  // The key of the view is among them, so that the next search does not show all.
  const choices = new Map([...names].map(([id, name]) => [`${id}`, `${name} (${id})`]))
  if (view.key !== undefined && !choices.has(view.key)) choices.set(view.key, `key ${view.key}`)
  const keys =
    choices.size < 2 && view.key === undefined
      ? ""
      : html`<label>Key<select name="key"><option value="">all</option>${[...choices].map(([id, name]) => html`<option value="${id}" ${view.key === id ? html`selected` : ""}>${name}</option>`)}</select></label>`
  const isFiltered = Object.keys(view.texts).length > 0 || view.key !== undefined || view.status !== undefined
  return html`<form class="filters" method="get" action="${PATH}" role="search" aria-label="Runs">
${view.status === undefined ? "" : html`<input type="hidden" name="status" value="${view.status}">`}
<div class="fields">${keys}${TEXT_FILTERS.slice(0, SHOWN_FILTERS).map(field)}</div>
<details ${isOpen ? html`open` : ""}><summary>More filters</summary><div class="fields">${hidden.map(field)}</div></details>
<p class="buttons"><button>Search</button>${isFiltered ? html` <a href="${PATH}">Clear all filters</a>` : ""}</p>
</form>`
}

/** Why a gate refused the run: what the rule says of itself is on the run's own page. */
function whyCell({ explanation }: ListedRun): Markup {
  if (explanation === undefined) return html`<td class="why"></td>`
  const { words, name } = whyOf(explanation.reason, explanation.rule_id)
  return html`<td class="why">${words === undefined ? "" : html`${words} `}<code>${clipped(name)}</code></td>`
}

const row = (run: ListedRun, names: ReadonlyMap<number, string>): Markup => {
  const { id, created_at, route_id, key_id, duration_ms } = run
  return html`<tr><td><a href="${PATH}/${id}">${id}</a></td><td class="outcome-cell">${outcomeLabel(run)}</td>${whyCell(run)}<td class="long">${clipped(route_id)}</td>${key_id === undefined ? "" : html`<td class="key">${clipped(names.get(key_id) ?? `key ${key_id}`)}</td>`}<td class="nowrap">${shortTime(created_at)}</td><td class="figure">${duration(duration_ms)}</td></tr>`
}

function list(
  view: RunView,
  { runs, next, total }: RunsFound,
  names: ReadonlyMap<number, string>,
  all: boolean,
): Markup {
  if (runs.length === 0)
    return empty(
      view.before === undefined ? "No run matches." : "There are no older runs.",
      html`<a href="${PATH}">Show all runs</a>`,
    )
  const columns = ["Run", "Outcome", "Why", "Route", ...(all ? ["Key"] : []), "Time (UTC)", "Took"]
  const older =
    next === undefined
      ? ""
      : html`<a rel="next" href="${address(PATH, { ...viewParameters(view), before: next })}">Older runs</a>`
  const newest = view.before === undefined ? "" : html`<a href="${address(PATH, viewParameters(view))}">Newest runs</a>`
  return html`${total === undefined ? "" : html`<p class="quiet" id="total">${plural(total, "run")}</p>`}
${table(
  "Runs, newest first",
  columns,
  runs.map(run => row(run, names)),
  "runs",
)}
<nav class="pages" aria-label="Pages">${newest}${older}</nav>`
}

/** The live tail: a script asks for newer runs and puts them above the others. */
const tail = (view: RunView, all: boolean): Markup =>
  html`<div id="tail" class="tail" hidden data-api="${address(all ? "/admin/runs" : "/runs/search", { ...viewParameters(view), limit: PAGE_SIZE })}"><button type="button" class="plain" aria-pressed="false">Follow new runs</button><span class="quiet" role="status"></span></div>`

export async function runsPage(visit: Visit): Promise<Response> {
  const view = readView(visit)
  const all = seesAll(visit)
  const [found, { counts, names }] = await Promise.all([findRuns(visit, view, PAGE_SIZE), countsOf(visit, view)])
  const exported = (extension: string): string => address(`/console/runs.${extension}`, viewParameters(view))
  const actions = html`<a class="button plain" href="${exported("csv")}" download>CSV</a> <a class="button plain" href="${exported("ndjson")}" download>NDJSON</a> <button type="button" class="plain" hidden data-curl="${address(all ? "/admin/runs" : "/runs/search", viewParameters(view))}">Copy as curl</button>`
  const body = html`${heading("Runs", "Newest first. The address of this page holds the filters: save it as a bookmark.", actions)}
${outcomeFilter(view, counts)}
${filterForm(view, names)}
${view.before === undefined ? tail(view, all) : ""}
${isRefusal(found) ? refused(found) : list(view, found, names, all)}`
  return show(visit, {
    title: "Runs",
    body,
    islands: ["tail.js"],
    status: isRefusal(found) && found.status === 400 ? 400 : 200,
  })
}
