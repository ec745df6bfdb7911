/** The charts of *Overview*: runs by outcome and tokens over time, and this time against the one before. */

import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { OverviewAnswer, OverviewRange } from "@runseal/core/wire/overview-answer"
import { type ChartFill, chartPatterns, columnChart, swatch } from "../parts/chart.ts"
import { address, compact, number, plural, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { table } from "../parts/pieces.ts"
import { OUTCOME_NAMES } from "../parts/run-words.ts"

export const RANGE_NAMES: Readonly<Record<OverviewRange, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
}

const FILL_OF: Readonly<Record<OutcomeKind, ChartFill>> = {
  ok: "ok",
  pepg_deny: "deny",
  ccv_halt: "run",
  macc_halt: "window",
  aivp_t4_halt: "review",
  attestation_gap: "gap",
  stage_error: "error",
}

type Step = OverviewAnswer["steps"][number]

/** Where the runs of a step are: the list holds its last millisecond, and the first one of the next step is not in it. */
const listOf = ({ from }: Step, step_seconds: number): string =>
  address("/console/runs", { from, to: new Date(Date.parse(from) + step_seconds * 1000 - 1).toISOString() })

/** A figure and what it was before: `8 before, +5`. */
export function comparedWith(now: number, before: number): string {
  const change = now - before
  const sign = change > 0 ? "+" : change < 0 ? "−" : "±"
  return `${compact(before)} before, ${sign}${compact(Math.abs(change))}`
}

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" })
const HOUR = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" })

/** Words below a chart. */
const WORDS_BELOW = 7

/** A word below every so many columns: the hour, or the day. */
function wordsBelow({ steps, range }: OverviewAnswer): readonly (string | undefined)[] {
  const each = Math.ceil(steps.length / WORDS_BELOW)
  return steps.map(({ from }, i) =>
    i % each === 0 ? (range === "24h" ? HOUR : DAY).format(new Date(from)) : undefined,
  )
}

const momentOf = ({ from }: Step, step_seconds: number): string => {
  const at = new Date(from)
  return step_seconds < 86_400 ? `${DAY.format(at)} ${HOUR.format(at)}` : DAY.format(at)
}

/** Both charts, with the table behind them. */
export function overviewCharts(overview: OverviewAnswer): Markup {
  return html`${chartPatterns}<div class="charts"><section class="card"><h2>Runs</h2>${runsChart(overview)}</section>
<section class="card"><h2>Tokens</h2>${tokensChart(overview)}</section></div>
<details><summary>Figures of both charts</summary>${figuresTable(overview)}</details>`
}

const OUTCOME_SERIES = OUTCOME_KINDS.map(kind => ({ name: OUTCOME_NAMES[kind], id: FILL_OF[kind] }))

function runsChart(overview: OverviewAnswer): Markup {
  const { steps, step_seconds } = overview
  const shown = OUTCOME_KINDS.filter(kind => steps.some(({ outcomes }) => outcomes[kind] > 0))
  const columns = steps.map(step => {
    const parts = shown.filter(kind => step.outcomes[kind] > 0)
    const each = parts.map(kind => `${OUTCOME_NAMES[kind].toLowerCase()} ${number(step.outcomes[kind])}`)
    return {
      values: OUTCOME_KINDS.map(kind => step.outcomes[kind]),
      words: [momentOf(step, step_seconds), plural(step.runs, "run"), ...each].join(" · "),
      link: listOf(step, step_seconds),
    }
  })
  const legend = shown.map(kind => html`<li>${swatch(FILL_OF[kind])} ${OUTCOME_NAMES[kind]}</li>`)
  return html`${columnChart({ series: OUTCOME_SERIES, columns, below: wordsBelow(overview) })}<ul class="legend">${legend}</ul>`
}

function tokensChart(overview: OverviewAnswer): Markup {
  const { steps, step_seconds, window_seconds } = overview
  const spans = Math.max(1, Math.round(window_seconds / step_seconds))
  const columns = steps.map(step => ({
    values: [step.tokens],
    words: step.tokens === 0 ? "" : `${momentOf(step, step_seconds)} · ${plural(step.tokens, "token")}`,
    spans: step.tokens === 0 ? 1 : spans,
  }))
  const series = [{ name: "Tokens", id: "tokens" }] as const
  return html`${columnChart({ series, columns, below: wordsBelow(overview) })}<ul class="legend"><li>${swatch("tokens")} Used or reserved, by the budget window in which they count</li></ul>`
}

function figuresTable({ steps, step_seconds }: OverviewAnswer): Markup {
  const rows = steps
    .filter(({ runs, tokens }) => runs > 0 || tokens > 0)
    .map(
      step =>
        html`<tr><td class="nowrap"><a href="${listOf(step, step_seconds)}">${shortTime(step.from)}</a></td><td class="figure">${number(step.runs)}</td>${OUTCOME_KINDS.map(kind => html`<td class="figure">${number(step.outcomes[kind])}</td>`)}<td class="figure">${number(step.tokens)}</td><td class="figure">${number(step.log_entries)}</td></tr>`,
    )
  if (rows.length === 0) return html`<p>There were no runs.</p>`
  const outcomes = OUTCOME_KINDS.map(kind => OUTCOME_NAMES[kind])
  return table("Runs and tokens over time", ["From (UTC)", "Runs", ...outcomes, "Tokens", "Log entries"], rows)
}

/** A bar that is a share of the longest. */
export const bar = (share: number, fill: ChartFill): Markup =>
  html`<svg class="bar" aria-hidden="true"><rect width="100%" height="100%" class="track"/><rect width="${(100 * share).toFixed(2)}%" height="100%" fill="url(#fill-${fill})"/></svg>`

/** Each outcome in this time and in the one before. */
export function outcomesCard({ steps, previous, range }: OverviewAnswer): Markup {
  const runs = OUTCOME_KINDS.map(kind => steps.reduce((sum, { outcomes }) => sum + outcomes[kind], 0))
  const most = Math.max(1, ...runs)
  const from = steps[0]?.from ?? ""
  const rows = OUTCOME_KINDS.map((kind, i) => {
    const now = runs[i] ?? 0
    const link = address("/console/runs", { status: kind, from })
    return html`<tr><th scope="row"><a href="${link}">${swatch(FILL_OF[kind])} ${OUTCOME_NAMES[kind]}</a></th><td class="bar-cell">${bar(now / most, FILL_OF[kind])}</td><td class="figure">${compact(now)}</td><td class="figure quiet">${compact(previous.outcomes[kind])}</td></tr>`
  })
  const name = RANGE_NAMES[range]
  return html`<section class="card"><h2>Outcomes</h2><table class="outcomes"><caption class="unseen">Runs by outcome</caption><thead><tr><th scope="col">Outcome</th><td></td><th scope="col" class="figure">${name}</th><th scope="col" class="figure">${name} before</th></tr></thead><tbody>${rows}</tbody></table></section>`
}
