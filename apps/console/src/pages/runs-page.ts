/** *Runs*: a list with filters. */
import { escapeControls } from "@runseal/core/presentation/printable"
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { COUNTED_RUNS_MAX } from "@runseal/core/wire/admin-answers"
import { isRefusal } from "../api.ts"
import { address, number, plural, shortTime } from "../parts/format.ts"
import { html, type Markup, verbatim } from "../parts/markup.ts"
import { clipped, empty, heading, outcomeLabel, refused, table } from "../parts/pieces.ts"
import { duration, OUTCOME_NAMES, whoseOf, whyOf } from "../parts/run-words.ts"
import { seesAll, show, type Visit } from "../visit.ts"
import {
  apiParameters,
  type Counts,
  findRuns,
  keyNames,
  LAST_NAMES,
  LAST_TIMES,
  type LastTime,
  type ListedRun,
  type RunsFound,
  type RunView,
  readView,
  TEXT_FILTERS,
  viewParameters,
  WORD_FILTERS,
} from "./run-lists.ts"

const PATH = "/console/runs"
const PAGE_SIZE = 50
/** Filters that are shown before "More filters". */
const SHOWN_FILTERS = 3

/** Outcomes as links, each with its number. */
function outcomeFilter(view: RunView, counts: Counts | undefined): Markup {
  const link = (status: OutcomeKind | undefined, text: string, count: number | undefined): Markup =>
    html`<li><a href="${address(PATH, { ...viewParameters(view), status })}" ${view.status === status ? html`aria-current="true"` : ""}>${text}${count === undefined ? "" : html` <span class="count">${number(count)}</span>`}</a></li>`
  const all = counts === undefined ? undefined : Object.values(counts).reduce((sum, count) => sum + count, 0)
  return html`<ul class="chips" aria-label="Outcome">${link(undefined, "All", all)}${OUTCOME_KINDS.map(kind => link(kind, OUTCOME_NAMES[kind], counts?.[kind]))}</ul>`
}

/** Times that end now, as links. The fields of the form have any other time. */
function timeFilter(view: RunView): Markup {
  const { from: _from, to: _to, ...texts } = view.texts
  const isAny = view.last === undefined && view.texts.from === undefined && view.texts.to === undefined
  const link = (last: LastTime | undefined, text: string, current: boolean): Markup =>
    html`<li><a href="${address(PATH, viewParameters({ texts, status: view.status, key: view.key, last }))}" ${current ? html`aria-current="true"` : ""}>${text}</a></li>`
  return html`<ul class="chips" aria-label="Time">${link(undefined, "Any time", isAny)}${LAST_NAMES.map(last => link(last, LAST_TIMES[last].name, view.last === last))}</ul>`
}

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** How a field of the form takes its value: a day is picked, and a known value is completed. */
function inputOf(name: string, { texts }: RunView): Markup | string {
  if (name === "from" || name === "to") return DAY.test(texts[name] ?? "2026-05-04") ? html`type="date"` : ""
  return name in KNOWN ? html`list="known-${name}"` : ""
}

/** Values that the runs of the page have, which fields complete. */
const KNOWN: Readonly<Record<string, (run: ListedRun) => string | undefined>> = {
  route_id: run => run.route_id,
  rule_id: run => run.explanation?.rule_id,
}

/** A value with characters that nobody sees would look like another one. */
const isPlain = (value: string): boolean => escapeControls(value) === value

const knownValues = (runs: readonly ListedRun[]): Markup =>
  html`${Object.entries(KNOWN).map(([name, read]) => html`<datalist id="known-${name}">${[...new Set(runs.flatMap(run => read(run) ?? []))].filter(isPlain).map(value => html`<option value="${verbatim(value)}"></option>`)}</datalist>`)}`

function filterForm(view: RunView, names: ReadonlyMap<number, string>): Markup {
  const field = ({ name, label, hint }: (typeof TEXT_FILTERS)[number]): Markup =>
    html`<label>${label}<input name="${name}" ${inputOf(name, view)} value="${verbatim(view.texts[name] ?? "")}" placeholder="${hint}" autocomplete="off" spellcheck="false"></label>`
  const choice = ({ name, label, words }: (typeof WORD_FILTERS)[number]): Markup =>
    html`<label>${label}<select name="${name}"><option value="">all</option>${words.map(([word, text]) => html`<option value="${word}" ${view.texts[name] === word ? html`selected` : ""}>${text}</option>`)}</select></label>`
  const hidden = TEXT_FILTERS.slice(SHOWN_FILTERS)
  const isOpen = [...hidden, ...WORD_FILTERS].some(({ name }) => view.texts[name] !== undefined)
  // The key of the view is among them, so that the next search does not show all.
  const choices = new Map([...names].map(([id, name]) => [`${id}`, `${name} (${id})`]))
  if (view.key !== undefined && !choices.has(view.key)) choices.set(view.key, `key ${view.key}`)
  const keys =
    choices.size < 2 && view.key === undefined
      ? ""
      : html`<label>Key<select name="key"><option value="">all</option>${[...choices].map(([id, name]) => html`<option value="${id}" ${view.key === id ? html`selected` : ""}>${name}</option>`)}</select></label>`
  const isFiltered =
    Object.keys(view.texts).length > 0 || view.key !== undefined || view.status !== undefined || view.last !== undefined
  return html`<form class="filters" method="get" action="${PATH}" role="search" aria-label="Runs">
${view.status === undefined ? "" : html`<input type="hidden" name="status" value="${view.status}">`}
${view.last === undefined ? "" : html`<input type="hidden" name="last" value="${view.last}">`}
<div class="fields">${keys}${TEXT_FILTERS.slice(0, SHOWN_FILTERS).map(field)}</div>
<details ${isOpen ? html`open` : ""}><summary>More filters</summary><div class="fields">${WORD_FILTERS.map(choice)}${hidden.map(field)}</div></details>
<p class="buttons"><button>Search</button>${isFiltered ? html` <a href="${PATH}">Clear all filters</a>` : ""}</p>
</form>`
}

/** Why a gate refused the run: what the rule says of itself is on the run's own page. */
function whyCell({ explanation }: ListedRun): Markup {
  if (explanation === undefined) return html`<td class="why"></td>`
  const { words, name } = whyOf(explanation)
  return html`<td class="why">${words === undefined ? "" : html`${words} `}<code>${clipped(name)}</code></td>`
}

/** The end user or the actor, and the key by its name. */
function whoCell({ who, key_id }: ListedRun, names: ReadonlyMap<number, string>): Markup {
  const person = whoseOf(who)
  const key = key_id === undefined ? undefined : (names.get(key_id) ?? `key ${key_id}`)
  return html`<td class="acted">${person === undefined ? "" : clipped(person)}${key === undefined ? "" : html`<span class="by">${clipped(key)}</span>`}</td>`
}

const row = (run: ListedRun, view: RunView, names: ReadonlyMap<number, string>): Markup => {
  const { id, created_at, route_id, duration_ms } = run
  return html`<tr><td><a href="${address(`${PATH}/${id}`, viewParameters(view))}">${id}</a></td><td class="outcome-cell">${outcomeLabel(run)}</td>${whyCell(run)}${whoCell(run, names)}<td class="long">${clipped(route_id)}</td><td class="nowrap">${shortTime(created_at)}</td><td class="figure">${duration(duration_ms)}</td></tr>`
}

/** How many runs a view has. What was not counted is more than the bound for all outcomes together, which says nothing of one outcome. */
function manyOf({ status }: RunView, total: number | undefined): Markup | "" {
  if (total === undefined && status !== undefined) return ""
  const many = total === undefined ? `more than ${number(COUNTED_RUNS_MAX)} runs` : plural(total, "run")
  return html`<p class="quiet" id="total">${many}</p>`
}

function list(view: RunView, { runs, next, total }: RunsFound, names: ReadonlyMap<number, string>): Markup {
  if (runs.length === 0)
    return empty(
      view.before === undefined ? "No run matches." : "There are no older runs.",
      html`<a href="${PATH}">Show all runs</a>`,
    )
  const columns = ["Run", "Outcome", "Why", "Who", "Route", "Time (UTC)", "Took"]
  const older =
    next === undefined
      ? ""
      : html`<a rel="next" href="${address(PATH, { ...viewParameters(view), before: next })}">Older runs</a>`
  const newest = view.before === undefined ? "" : html`<a href="${address(PATH, viewParameters(view))}">Newest runs</a>`
  return html`${manyOf(view, total)}
${table(
  "Runs, newest first",
  columns,
  runs.map(run => row(run, view, names)),
  "runs",
)}
<nav class="pages" aria-label="Pages">${newest}${older}</nav>`
}

/** The live tail: a script asks for newer runs and puts them above the others. */
const tail = (view: RunView, all: boolean): Markup =>
  html`<div id="tail" class="tail" hidden data-api="${address(all ? "/admin/runs" : "/runs/search", { ...apiParameters(view), details: "record", limit: PAGE_SIZE })}"><button type="button" class="plain" aria-pressed="false">Follow new runs</button><span class="quiet" role="status"></span></div>`

export async function runsPage(visit: Visit): Promise<Response> {
  const view = readView(visit)
  const all = seesAll(visit)
  const [found, names] = await Promise.all([
    findRuns(visit, view, PAGE_SIZE, { counted: true, details: true }),
    keyNames(visit),
  ])
  const exported = (extension: string): string => address(`/console/runs.${extension}`, viewParameters(view))
  const actions = html`<a class="button plain" href="${exported("csv")}" download>CSV</a> <a class="button plain" href="${exported("ndjson")}" download>NDJSON</a> <button type="button" class="plain" hidden data-curl="${address(all ? "/admin/runs" : "/runs/search", apiParameters(view))}">Copy as curl</button>`
  const body = html`${heading("Runs", "Newest first. The address of this page holds the filters: save it as a bookmark.", actions)}
${outcomeFilter(view, isRefusal(found) ? undefined : found.counts)}
${timeFilter(view)}
${filterForm(view, names)}${isRefusal(found) ? "" : knownValues(found.runs)}
${view.before === undefined ? tail(view, all) : ""}
${isRefusal(found) ? refused(found) : list(view, found, names)}`
  return show(visit, {
    title: "Runs",
    body,
    islands: ["tail.js"],
    status: isRefusal(found) && found.status === 400 ? 400 : 200,
  })
}
