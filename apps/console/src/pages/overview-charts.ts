/** The charts of the overview, as SVG. Each has its figures in a table beside it, for those who do not see it. */
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import type { OverviewAnswer } from "@runseal/core/wire/overview-answer"
import { address, compact, number, shortTime } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { OUTCOME_NAMES, toneOf } from "../parts/outcome-names.ts"
import { clipped, table } from "../parts/pieces.ts"

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
export function outcomesChart({ steps, step_seconds }: OverviewAnswer): Markup {
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
export function growthChart({ steps }: OverviewAnswer): Markup {
  const most = Math.max(1, ...steps.map(({ log_entries }) => log_entries))
  const points = steps.map(
    ({ log_entries }, i) =>
      `${((i * 100) / Math.max(1, steps.length - 1)).toFixed(2)},${(30 - (28 * log_entries) / most).toFixed(2)}`,
  )
  return html`<svg class="growth" viewBox="0 0 100 31" preserveAspectRatio="none" aria-hidden="true"><polyline points="${points.join(" ")}"/></svg>`
}

/** A bar that leads to its list. */
export type Bar = { readonly name: string; readonly runs: number; readonly link: string; readonly tone: Tone }

export function bars(items: readonly Bar[]): Markup {
  const most = Math.max(1, ...items.map(({ runs }) => runs))
  const item = ({ name, runs, link, tone }: Bar): Markup =>
    html`<li><a href="${link}">${clipped(name)}<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="10" class="track"/><rect width="${((100 * runs) / most).toFixed(2)}" height="10" class="fill ${tone}"/></svg><span class="figure">${compact(runs)}</span></a></li>`
  return html`<ul class="bars">${items.map(item)}</ul>`
}

/** The runs of all steps by outcome. */
export const outcomeBars = ({ steps }: OverviewAnswer, from: string): Markup =>
  bars(
    OUTCOME_KINDS.map((kind: OutcomeKind) => ({
      name: OUTCOME_NAMES[kind],
      runs: steps.reduce((sum, { outcomes }) => sum + outcomes[kind], 0),
      link: address("/console/runs", { status: kind, from }),
      tone: toneOf(kind),
    })),
  )
