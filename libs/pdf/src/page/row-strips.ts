import type { StructureNode } from "../tags/structure.ts"
import type { TextLine } from "../text/wrap.ts"
import type { RepeatedHeader, Strip } from "./flow.ts"
import { startOf } from "./passage.ts"
import { artifact, fillRectangle, marked, type Pen, strokeLine } from "./pen.ts"
import { setLine } from "./set-line.ts"
import { type Colour, type Column, PAGE } from "./style.ts"

/** A cell: its lines, already broken to its column, and the node each belongs to. */
export type Cell = {
  readonly column: Column
  readonly align: "start" | "end"
  readonly lines: readonly CellLine[]
}

export type CellLine = { readonly node: StructureNode; readonly line: TextLine }

export function linesIn(node: StructureNode, lines: readonly TextLine[]): CellLine[] {
  return lines.map(line => ({ node, line }))
}

export type RowStyle = {
  /** Above and below the text. */
  readonly padding: number
  /** The line below the row, and from where to where. */
  readonly rule: { readonly ink: Colour; readonly weight: number }
  readonly column: Column
  readonly ground?: Colour
}

/** A row higher than this may go on on the next page. */
const WHOLE_ROW: number = PAGE.height / 3

/** One strip for a row, or, for a high one, one strip for each of its lines. */
export function rowStrips(cells: readonly Cell[], style: RowStyle, header?: RepeatedHeader): Strip[] {
  const height = Math.max(0, ...cells.map(heightOfCell)) + 2 * style.padding
  if (height <= WHOLE_ROW) {
    const draw = (pen: Pen, top: number): void => drawRow(pen, cells, style, top, height)
    return [{ height, gap: 0, keepWithNext: false, draw, ...(header && { header }) }]
  }
  let count = 0
  for (const cell of cells) count = Math.max(count, cell.lines.length)
  return Array.from({ length: count }, (_, index) => slice(cells, style, index, count, header))
}

/** Draws a row whole; without marks for a row that only repeats. */
export function drawRow(
  pen: Pen,
  cells: readonly Cell[],
  style: RowStyle,
  top: number,
  height: number,
  repeated = false,
): void {
  artifact(pen, () => {
    if (style.ground !== undefined) fillRectangle(pen, style.column.x, top, style.column.width, height, style.ground)
    ruleBelow(pen, style, top + height)
  })
  for (const { column, align, lines } of cells) {
    let y = top + style.padding
    for (const { node, line } of lines) {
      const lineTop = y
      const draw = (): void => setLine(pen, line, startOf(line, column, align), lineTop)
      if (repeated) artifact(pen, draw, "Pagination")
      else marked(pen, node, draw)
      y += line.leading
    }
  }
}

/** The height of a cell's text. */
export function heightOfCell(cell: Cell): number {
  return heightOf(cell.lines.map(({ line }) => line))
}

export function heightOf(lines: readonly TextLine[]): number {
  let height = 0
  for (const line of lines) height += line.leading
  return height
}

function slice(
  cells: readonly Cell[],
  style: RowStyle,
  index: number,
  count: number,
  header: RepeatedHeader | undefined,
): Strip {
  const first = index === 0
  const last = index === count - 1
  const lines = cells.flatMap(cell => {
    const found = cell.lines[index]
    return found === undefined ? [] : [{ cell, ...found }]
  })
  const leading = Math.max(0, ...lines.map(({ line }) => line.leading))
  return {
    height: leading + (first ? style.padding : 0) + (last ? style.padding : 0),
    gap: 0,
    keepWithNext: first || index === count - 2,
    ...(header && { header }),
    draw: (pen, top) => {
      const start = top + (first ? style.padding : 0)
      for (const { cell, node, line } of lines) {
        marked(pen, node, () => setLine(pen, line, startOf(line, cell.column, cell.align), start))
      }
      if (last) artifact(pen, () => ruleBelow(pen, style, start + leading + style.padding))
    },
  }
}

function ruleBelow(pen: Pen, { column, rule }: RowStyle, y: number): void {
  strokeLine(pen, [column.x, y], [column.x + column.width, y], rule.ink, rule.weight)
}
