import type { StructureNode } from "../tags/structure.ts"
import type { TextLine } from "../text/wrap.ts"
import type { Again, Strip } from "./flow.ts"
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

export type RowLook = {
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
export function rowStrips(cells: readonly Cell[], look: RowLook, again?: Again): Strip[] {
  const height = Math.max(0, ...cells.map(heightOfCell)) + 2 * look.padding
  if (height <= WHOLE_ROW) {
    const draw = (pen: Pen, top: number): void => drawRow(pen, cells, look, top, height)
    return [{ height, gap: 0, keep: false, draw, ...(again && { again }) }]
  }
  let count = 0
  for (const cell of cells) count = Math.max(count, cell.lines.length)
  return Array.from({ length: count }, (_, index) => slice(cells, look, index, count, again))
}

/** Draws a row whole; without marks for a row that only repeats. */
export function drawRow(
  pen: Pen,
  cells: readonly Cell[],
  look: RowLook,
  top: number,
  height: number,
  repeated = false,
): void {
  artifact(pen, () => {
    if (look.ground !== undefined) fillRectangle(pen, look.column.x, top, look.column.width, height, look.ground)
    ruleBelow(pen, look, top + height)
  })
  for (const { column, align, lines } of cells) {
    let y = top + look.padding
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

function slice(cells: readonly Cell[], look: RowLook, index: number, count: number, again: Again | undefined): Strip {
  const first = index === 0
  const last = index === count - 1
  const lines = cells.flatMap(cell => {
    const found = cell.lines[index]
    return found === undefined ? [] : [{ cell, ...found }]
  })
  const leading = Math.max(0, ...lines.map(({ line }) => line.leading))
  return {
    height: leading + (first ? look.padding : 0) + (last ? look.padding : 0),
    gap: 0,
    keep: first || index === count - 2,
    ...(again && { again }),
    draw: (pen, top) => {
      const start = top + (first ? look.padding : 0)
      for (const { cell, node, line } of lines) {
        marked(pen, node, () => setLine(pen, line, startOf(line, cell.column, cell.align), start))
      }
      if (last) artifact(pen, () => ruleBelow(pen, look, start + leading + look.padding))
    },
  }
}

function ruleBelow(pen: Pen, { column, rule }: RowLook, y: number): void {
  strokeLine(pen, [column.x, y], [column.x + column.width, y], rule.ink, rule.weight)
}
