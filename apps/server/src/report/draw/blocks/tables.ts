import type { FactsBlock, Line, TableBlock } from "../../block.ts"
import type { Again, Strip } from "../page/flow.ts"
import { type Column, passageStrips } from "../page/passage.ts"
import { type Cell, type CellLine, drawRow, heightOfCell, linesIn, type RowLook, rowStrips } from "../page/rows.ts"
import { HAIRLINE, RULE, SETTINGS, type Setting, TEXT_HEIGHT, WASH } from "../page/style.ts"
import { addNode, type StructureNode } from "../tags/structure.ts"
import { wrap } from "../text/wrap.ts"
import { BLOCK_GAP, type Place, TEXT_COLUMN } from "./place.ts"

/** Between the text of neighbouring columns. */
const GUTTER = 10
/** A column narrower than this could not hold a stand-in. */
const NARROWEST = 34
const LABEL_PART = 0.29
/** A table up to this height is not split: a sixth of a page. */
const SHORT_TABLE: number = TEXT_HEIGHT / 6

const ROW: RowLook = { padding: 3.2, rule: { ink: HAIRLINE, weight: 0.5 }, column: TEXT_COLUMN }
const HEADER: RowLook = { padding: 3.6, rule: { ink: RULE, weight: 0.8 }, column: TEXT_COLUMN, ground: WASH.plain }

/** Rows for reading, and rows for looking up. */
const ROOMY = { row: ROW, header: HEADER, cell: SETTINGS.cell, label: SETTINGS.label }
const DENSE = {
  row: { ...ROW, padding: 1 },
  header: { ...HEADER, padding: 1.6 },
  cell: SETTINGS.dense_cell,
  label: SETTINGS.dense_label,
}

export function tableStrips(block: TableBlock, place: Place): Strip[] {
  const look = block.dense ? DENSE : ROOMY
  const table = addNode(place.node, "Table")
  const columns = columnsOf(block.columns.map(({ share }) => share))
  const aligns = block.columns.map(({ align }) => align ?? "start")
  const rowOf = (row: StructureNode, type: "TH" | "TD", texts: readonly Line[], setting: Setting): Cell[] =>
    columns.map((column, index) => ({
      column,
      align: aligns[index] ?? "start",
      lines: linesIn(
        addNode(row, type, type === "TH" ? { scope: "Column" } : {}),
        wrap(texts[index] ?? [], setting, column.width),
      ),
    }))
  const caption = passageStrips({
    line: [{ text: block.caption }],
    setting: SETTINGS.caption,
    node: addNode(table, "Caption"),
    column: TEXT_COLUMN,
    gap: BLOCK_GAP + 3,
    keep: true,
  })
  const titles = block.columns.map(({ title }): Line => [{ text: title }])
  const headCells = rowOf(addNode(addNode(table, "THead"), "TR"), "TH", titles, SETTINGS.column_title)
  const body = addNode(table, "TBody")
  const head = rowStrips(headCells, look.header)
  const again = repeated(headCells, look.header)
  const rows = block.rows.flatMap((texts, index) =>
    afterHeader(rowStrips(rowOf(addNode(body, "TR"), "TD", texts, look.cell), look.row, again), index === 0),
  )
  return [
    ...caption,
    ...head.map((strip, index) => ({ ...strip, gap: index === 0 ? 3 : 0, keep: true })),
    ...wellSplit(rows),
  ]
}

export function factsStrips({ rows, dense }: Pick<FactsBlock, "rows" | "dense">, place: Place): Strip[] {
  const look = dense ? DENSE : ROOMY
  if (rows.length === 0) return []
  const table = addNode(place.node, "Table")
  const [labels, values] = columnsOf([LABEL_PART, 1 - LABEL_PART])
  if (labels === undefined || values === undefined) return []
  const strips = rows.flatMap(({ label, value, note }) => {
    const row = addNode(table, "TR")
    const name = addNode(row, "TH", { scope: "Row" })
    const content = addNode(row, "TD")
    const set = (line: Line, setting: Setting): CellLine[] =>
      linesIn(addNode(content, "P"), wrap(line, setting, values.width))
    const cells: Cell[] = [
      { column: labels, align: "start", lines: linesIn(name, wrap([{ text: label }], look.label, labels.width)) },
      {
        column: values,
        align: "start",
        lines: [...set(value, look.cell), ...(note === undefined ? [] : set([{ text: note }], SETTINGS.note))],
      },
    ]
    return rowStrips(cells, look.row)
  })
  return wellSplit(strips).map((strip, index) => (index === 0 ? { ...strip, gap: BLOCK_GAP } : strip))
}

/** Short tables stay on one page; of others no row stands alone before or after the turn of a page. */
function wellSplit(strips: readonly Strip[]): Strip[] {
  const height = strips.reduce((sum, strip) => sum + strip.height, 0)
  const last = strips.length - 1
  return strips.map((strip, index) => {
    const keep = index < last && (height <= SHORT_TABLE || index === 0 || index === last - 1)
    return keep ? { ...strip, keep } : strip
  })
}

/** The header above the first row is the table's own. */
function afterHeader(strips: readonly Strip[], isFirst: boolean): Strip[] {
  return strips.map((strip, index) => {
    if (!isFirst || index > 0) return strip
    const { again: _, ...rest } = strip
    return rest
  })
}

/** A header higher than a row may be would leave no room for rows: then it stands once. */
function repeated(cells: readonly Cell[], look: RowLook): Again | undefined {
  const height = Math.max(0, ...cells.map(heightOfCell)) + 2 * look.padding
  const highest = 120
  if (height > highest) return undefined
  return { height, draw: (pen, top) => drawRow(pen, cells, look, top, height, true) }
}

/** Columns by their shares of the width, none too narrow. */
function columnsOf(shares: readonly number[]): Column[] {
  const room = TEXT_COLUMN.width - GUTTER * shares.length
  const sane = shares.map(share => (Number.isFinite(share) && share > 0 ? share : 0))
  const total = sane.reduce((sum, share) => sum + share, 0) || 1
  const wanted = sane.map(share => Math.max(NARROWEST, (share / total) * room))
  const excess = wanted.reduce((sum, width) => sum + width, 0) - room
  const spare = wanted.reduce((sum, width) => sum + (width - NARROWEST), 0)
  let x = TEXT_COLUMN.x + GUTTER / 2
  return wanted.map(width => {
    const fitted = spare > 0 ? width - (excess * (width - NARROWEST)) / spare : room / shares.length
    const column = { x, width: fitted }
    x += fitted + GUTTER
    return column
  })
}
