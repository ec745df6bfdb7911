import { encode } from "uqr"
import type { GaugeBlock, Line, QrBlock } from "../../block.ts"
import type { Strip } from "../page/flow.ts"
import { type Column, passageStrips } from "../page/passage.ts"
import { at, colour, fillRectangle, marked, number, type Pen, paint, strokeLine } from "../page/pen.ts"
import { heightOf } from "../page/rows.ts"
import { setLine } from "../page/set-line.ts"
import { type Colour, HAIRLINE, INK, PAGE, SETTINGS } from "../page/style.ts"
import { addNode } from "../tags/structure.ts"
import { wellFormed } from "../text/utf16.ts"
import { firstLines, type TextLine } from "../text/wrap.ts"
import { BLOCK_GAP, type Place, TEXT_COLUMN } from "./place.ts"
import { paragraphStrips } from "./prose.ts"
import { boxOf } from "./timeline.ts"

const BAR_HEIGHT = 9
/** A label longer than this is cut, visibly: the gauge is one drawing. */
const MAX_LINES = 3
const QR_SIZE = 92
const QR_GUTTER = 16
/** White above a code: four modules of the smallest code (ISO/IEC 18004, 6.3.8). */
const QUIET_ZONE: number = (4 * QR_SIZE) / 21
/** What a code of the highest version holds at error correction M (ISO/IEC 18004, table 7), in bytes. */
const QR_MAX_BYTES = 2331

/** A bar up to the limit, or beyond it with the limit as a mark. */
export function gaugeStrips(block: GaugeBlock, place: Place): Strip[] {
  const before = amount(block.before)
  const used = amount(block.used)
  const limit = amount(block.limit)
  const sum = `${grouped(before + used)} of ${grouped(limit)} ${block.unit}`
  const figure = addNode(place.node, "Figure", {
    alternative: `${block.label}: ${grouped(before)} before, ${grouped(used)} used, limit ${grouped(limit)} ${block.unit}`,
  })
  const half = TEXT_COLUMN.width / 2 - 6
  const label = firstLines([{ text: block.label, style: "bold" }], SETTINGS.cell, half, MAX_LINES)
  const value = firstLines(
    [{ text: sum, tone: block.tone }, ...share(before + used, limit)],
    SETTINGS.cell,
    half,
    MAX_LINES,
  )
  const textHeight = Math.max(heightOf(label), heightOf(value))
  const height = textHeight + BAR_HEIGHT + 8
  const draw = (pen: Pen, top: number): void => {
    figure.box = boxOf(top, height)
    marked(pen, figure, () => {
      setLines(pen, label, top, () => TEXT_COLUMN.x)
      setLines(pen, value, top, line => TEXT_COLUMN.x + TEXT_COLUMN.width - line.width)
      drawBar(pen, { before, used, limit }, INK[block.tone], top + textHeight + 3)
    })
  }
  return [{ height, gap: BLOCK_GAP, keep: false, draw }]
}

function setLines(pen: Pen, lines: readonly TextLine[], top: number, x: (line: TextLine) => number): void {
  let y = top
  for (const line of lines) {
    setLine(pen, line, x(line), y)
    y += line.leading
  }
}

function drawBar(pen: Pen, tokens: { before: number; used: number; limit: number }, ink: Colour, y: number): void {
  const { before, used, limit } = tokens
  const { x, width } = TEXT_COLUMN
  const scale = width / Math.max(before + used, limit, 1)
  fillRectangle(pen, x, y, width, BAR_HEIGHT, HAIRLINE)
  if (before > 0) fillRectangle(pen, x, y, before * scale, BAR_HEIGHT, INK.muted)
  if (used > 0) fillRectangle(pen, x + before * scale, y, Math.max(used * scale, 0.8), BAR_HEIGHT, ink)
  const mark = x + Math.min(limit * scale, width)
  strokeLine(pen, [mark, y - 2], [mark, y + BAR_HEIGHT + 2], INK.plain, 1.2)
}

function share(sum: number, limit: number): Line {
  if (limit === 0) return []
  return [{ text: ` (${percent(sum, limit)} %)`, tone: "muted" }]
}

/** One decimal, but never nothing for something, nor the limit for what is above or below it. */
function percent(sum: number, limit: number): string {
  const tenths = (sum / limit) * 1000
  if (sum > limit) return String(Math.ceil(tenths) / 10)
  if (tenths > 0 && tenths < 1) return "< 0.1"
  return String(Math.floor(tenths) / 10)
}

function amount(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0
}

/** Digits in groups of three, apart by narrow room that no locale reads as a decimal sign. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",")
}

/** A code beside its text; content that no code can hold stands in the text alone. */
export function qrStrips(block: QrBlock, place: Place): Strip[] {
  const content = wellFormed(block.content)
  if (Buffer.byteLength(content) > QR_MAX_BYTES) {
    return paragraphStrips({ kind: "paragraph", line: block.line }, place)
  }
  const { data, size } = encode(content, { ecc: "M", border: 0 })
  const column: Column = {
    x: TEXT_COLUMN.x + QR_SIZE + QR_GUTTER,
    width: TEXT_COLUMN.width - QR_SIZE - QR_GUTTER,
  }
  const section = addNode(place.node, "Div")
  const figure = addNode(section, "Figure", { alternative: `QR code: ${block.content}` })
  const text = [
    ...passageStrips({
      line: [{ text: block.title }],
      setting: SETTINGS.callout_title,
      node: addNode(section, "P"),
      column,
      keep: true,
    }),
    ...passageStrips({ line: block.line, setting: SETTINGS.body, node: addNode(section, "P"), column, gap: 2 }),
    ...passageStrips({
      line: [{ text: block.content, style: "mono", tone: "muted" }],
      setting: SETTINGS.note,
      node: addNode(section, "P"),
      column,
      gap: 3,
    }),
  ]
  const drawCode = (pen: Pen, top: number): void => {
    figure.box = [TEXT_COLUMN.x, PAGE.height - top - QR_SIZE, TEXT_COLUMN.x + QR_SIZE, PAGE.height - top]
    marked(pen, figure, () => drawModules(pen, data, QR_SIZE / size, top))
  }
  return besides(text, drawCode)
}

/** The text's strips with the code at their left; the code's height stays on one page with the text beside it. */
function besides(text: readonly Strip[], drawCode: (pen: Pen, top: number) => void): Strip[] {
  const strips: Strip[] = []
  let height = 0
  for (const [index, strip] of text.entries()) {
    const gap = index === 0 ? QUIET_ZONE : strip.gap
    const draw: Strip["draw"] = index > 0 ? strip.draw : withCode(strip, drawCode)
    strips.push({ ...strip, gap, draw, keep: strip.keep || height < QR_SIZE })
    height += strip.height + (index === 0 ? 0 : strip.gap)
  }
  strips.push({ height: Math.max(2, QR_SIZE - height), gap: 0, keep: false, draw: () => undefined })
  return strips
}

function withCode(strip: Strip, drawCode: Strip["draw"]): Strip["draw"] {
  return (pen, top) => {
    drawCode(pen, top)
    strip.draw(pen, top)
  }
}

/** Dark modules as one path, neighbours in a row as one rectangle. */
function drawModules(pen: Pen, rows: readonly (readonly boolean[])[], module: number, top: number): void {
  const rectangles: string[] = []
  for (const [row, cells] of rows.entries()) {
    for (let start = 0; start < cells.length; start++) {
      if (!cells[start]) continue
      let end = start + 1
      while (cells[end]) end++
      const corner = at(TEXT_COLUMN.x + start * module, top + (row + 1) * module)
      rectangles.push(`${corner} ${number((end - start) * module)} ${number(module)} re`)
      start = end
    }
  }
  paint(pen, `${colour(INK.plain)} rg ${rectangles.join(" ")} f`)
}
