import type { GaugeBlock, Line } from "../block.ts"
import type { Place, Strip } from "../page/flow.ts"
import { fillRectangle, marked, type Pen, strokeLine } from "../page/pen.ts"
import { heightOf } from "../page/row-strips.ts"
import { setLine } from "../page/set-line.ts"
import { type Colour, type Column, HAIRLINE, INK, type Style } from "../page/style.ts"
import { addNode } from "../tags/structure.ts"
import { firstLines, type TextLine } from "../text/wrap.ts"
import { boxOf } from "./timeline-block.ts"

/** A label longer than this is cut, visibly: the gauge is one drawing. */
const MAX_LINES = 3

type Amounts = { readonly before: number; readonly used: number; readonly limit: number }

/** Positions of the parts of a gauge; lengths in points. */
type Layout = {
  readonly label: Column
  readonly value: Column
  readonly bar: Column
  readonly barHeight: number
  /** The bar is below the texts, or else between them. */
  readonly below: boolean
  readonly gap: number
}

function layoutIn({ column: { x, width }, gaps, compact }: Style): Layout {
  const columnOf = (from: number, to: number): Column => ({ x: x + from * width, width: (to - from) * width })
  if (!compact) {
    const label = { x, width: width / 2 - 6 }
    const value = { x: x + width / 2 + 6, width: width / 2 - 6 }
    return { label, value, bar: { x, width }, barHeight: 9, below: true, gap: gaps.block }
  }
  return {
    label: columnOf(0, 0.26),
    bar: columnOf(0.27, 0.62),
    value: columnOf(0.64, 1),
    barHeight: 6,
    below: false,
    gap: gaps.block,
  }
}

/** A bar up to the limit, or beyond it with the limit as a mark. */
export function gaugeStrips(block: GaugeBlock, place: Place): Strip[] {
  const { settings, column } = place.style
  const layout = layoutIn(place.style)
  const amounts = { before: amount(block.before), used: amount(block.used), limit: amount(block.limit) }
  const { before, used, limit } = amounts
  const sum = `${grouped(before + used)} of ${grouped(limit)} ${block.unit}`
  const figure = addNode(place.node, "Figure", {
    alternative: `${block.label}: ${grouped(before)} before, ${grouped(used)} used, limit ${grouped(limit)} ${block.unit}`,
  })
  const set = (line: Line, { width }: Column): TextLine[] => firstLines(line, settings.cell, width, MAX_LINES)
  const label = set([{ text: block.label, style: "bold" }], layout.label)
  const value = set([{ text: sum, tone: block.tone }, ...share(before + used, limit)], layout.value)
  const textHeight = Math.max(heightOf(label), heightOf(value))
  const barTop = layout.below ? textHeight + 3 : (textHeight - layout.barHeight) / 2
  const height = layout.below ? barTop + layout.barHeight + 5 : textHeight + 2
  const draw = (pen: Pen, top: number): void => {
    figure.box = boxOf(column, top, height)
    marked(pen, figure, () => {
      setLines(pen, label, top, () => layout.label.x)
      setLines(pen, value, top, line => layout.value.x + layout.value.width - line.width)
      drawBar(pen, layout, amounts, INK[block.tone], top + barTop)
    })
  }
  return [{ height, gap: layout.gap, keepWithNext: layout.below, draw }]
}

function setLines(pen: Pen, lines: readonly TextLine[], top: number, x: (line: TextLine) => number): void {
  let y = top
  for (const line of lines) {
    setLine(pen, line, x(line), y)
    y += line.leading
  }
}

function drawBar(pen: Pen, { bar, barHeight }: Layout, { before, used, limit }: Amounts, ink: Colour, y: number): void {
  const { x, width } = bar
  const scale = width / Math.max(before + used, limit, 1)
  fillRectangle(pen, x, y, width, barHeight, HAIRLINE)
  if (before > 0) fillRectangle(pen, x, y, before * scale, barHeight, INK.muted)
  if (used > 0) fillRectangle(pen, x + before * scale, y, Math.max(used * scale, 0.8), barHeight, ink)
  const mark = x + Math.min(limit * scale, width)
  strokeLine(pen, [mark, y - 2], [mark, y + barHeight + 2], INK.plain, 1.2)
}

function share(sum: number, limit: number): Line {
  if (limit === 0) return []
  return [{ text: ` (${percent(sum, limit)} %)`, tone: "muted" }]
}

/** One decimal; only 0 is "0", and only the limit itself is "100". */
function percent(sum: number, limit: number): string {
  const tenths = (sum / limit) * 1000
  if (sum > limit) return String(Math.ceil(tenths) / 10)
  if (tenths > 0 && tenths < 1) return "< 0.1"
  return String(Math.floor(tenths) / 10)
}

function amount(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0
}

/** Digits in groups of three. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",")
}
