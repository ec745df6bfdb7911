/**
 * Charts of columns, as SVG that the server draws. All places are shares of the drawing, so that text and patterns keep their size on every
 * screen. A chart is hidden from screen readers: the table behind it has the same figures. Decision 0381.
 */
import { compact } from "./format.ts"
import { html, type Markup } from "./markup.ts"

/** One kind of figure, in every column the same. */
export type Series = {
  readonly name: string
  /** Of its colour and its pattern. */
  readonly id: ChartFill
}

export type Column = {
  /** One figure for each series, drawn from below. */
  readonly values: readonly number[]
  /** What is shown of it under the pointer. */
  readonly words: string
  /** Where its figures are. */
  readonly link?: string
  /** Columns that it takes, itself among them; absent for one. */
  readonly spans?: number
}

type ChartParts = {
  readonly series: readonly Series[]
  readonly columns: readonly Column[]
  /** Below a column, for those that have a word; those that have no room are left out. */
  readonly below: readonly (string | undefined)[]
}

/** How a figure is filled: a colour each, and a pattern for those who do not tell colours apart. */
export const CHART_FILLS = ["ok", "deny", "run", "window", "review", "gap", "error", "tokens"] as const
export type ChartFill = (typeof CHART_FILLS)[number]

/** Strokes of a square of 8 by 8 pixels; without any the colour alone. */
const PATTERNS: Readonly<Record<ChartFill, Markup | "">> = {
  ok: "",
  deny: html`<path d="M-2 2l4-4M0 8l8-8M6 10l4-4"/>`,
  run: html`<path d="M0 2h8M0 6h8"/>`,
  window: html`<path d="M2 0v8M6 0v8"/>`,
  review: html`<path d="M2 2h.1M6 6h.1" stroke-width="3" stroke-linecap="round"/>`,
  gap: html`<path d="M0 4h8M4 0v8"/>`,
  error: html`<path d="M0 0l8 8M8 0l-8 8"/>`,
  tokens: "",
}

/** The patterns, once on a page that has charts. */
export const chartPatterns: Markup = html`<svg class="unseen" aria-hidden="true"><defs>${CHART_FILLS.map(id => html`<pattern id="fill-${id}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="on-${id}"/><g class="strokes">${PATTERNS[id]}</g></pattern>`)}</defs></svg>`

/** A square filled as a series is, for legends. */
export const swatch = (id: ChartFill): Markup =>
  html`<svg class="swatch" aria-hidden="true"><rect width="100%" height="100%" fill="url(#fill-${id})"/></svg>`

/** Of the room of a column, the part that is filled. */
const FILLED = 0.8
/** Lines of the scale, besides that of nothing. */
const LINES = 4

/** The lines of a scale: whole numbers at equal distances, 1, 2 or 5 times a power of ten, the last not below the highest figure. */
export function scaleOf(most: number): readonly number[] {
  const rough = Math.max(1, most / LINES)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 5, 10].find(each => each * power >= rough) ?? 10)
  const count = Math.max(1, Math.ceil(most / step))
  return Array.from({ length: count + 1 }, (_, i) => i * step)
}

const percent = (share: number): string => `${(100 * share).toFixed(2)}%`

const sumOf = ({ values }: Column): number => values.reduce((sum, value) => sum + value, 0)

/** Columns over an axis, with a scale beside them. Links are for a pointer; the table behind the chart has the same. */
export function columnChart({ series, columns, below }: ChartParts): Markup {
  const scale = scaleOf(Math.max(0, ...columns.map(sumOf)))
  const top = scale.at(-1) ?? 1
  const lines = scale.map(value => {
    const y = percent(1 - value / top)
    return html`<line x1="0" x2="100%" y1="${y}" y2="${y}" class="${value === 0 ? "axis" : "grid"}"/>`
  })
  return html`<div class="chart" aria-hidden="true"><ol class="scale">${scale.toReversed().map(value => html`<li>${compact(value)}</li>`)}</ol>
<svg class="plot">${lines}${columns.map((column, i) => drawn(column, { at: i, of: columns.length, series, top }))}</svg>
<svg class="below">${apart(below).map((text, i) => (text === undefined ? "" : html`<text x="${percent((i + 0.5) / columns.length)}" y="1.1em" text-anchor="${anchorOf(i / columns.length)}">${text}</text>`))}</svg></div>`
}

/** Least distance of two words below columns, as a share of the drawing. */
const WORDS_APART = 0.1

/** The words that have room: of two that are too near to each other the later one. */
function apart(below: ChartParts["below"]): ChartParts["below"] {
  const words = below.flatMap((text, i) => (text === undefined ? [] : [i]))
  return below.map((text, i) => {
    const next = words.find(other => other > i)
    return next !== undefined && (next - i) / below.length < WORDS_APART ? undefined : text
  })
}

/** So that no word leaves the drawing. */
const anchorOf = (share: number): string => (share < 0.05 ? "start" : share > 0.9 ? "end" : "middle")

type Place = { readonly at: number; readonly of: number; readonly series: readonly Series[]; readonly top: number }

function drawn(column: Column, { at, of, series, top }: Place): Markup {
  const spans = Math.min(column.spans ?? 1, of - at)
  const [left, width] = [at / of, spans / of]
  let height = 0
  const parts = series.map(({ id }, i) => {
    const share = (column.values[i] ?? 0) / top
    height += share
    return share === 0
      ? ""
      : html`<rect x="${percent(left + (width * (1 - FILLED)) / 2)}" y="${percent(1 - height)}" width="${percent(width * FILLED)}" height="${percent(share)}" fill="url(#fill-${id})"/>`
  })
  const inside = html`<rect x="${percent(left)}" y="0" width="${percent(width)}" height="100%" class="hover"/>${parts}<text x="100%" y="-0.6em" text-anchor="end">${column.words}</text>`
  return column.link === undefined
    ? html`<g class="column">${inside}</g>`
    : html`<a class="column" href="${column.link}" tabindex="-1">${inside}</a>`
}
