import type { FactsBlock } from "../block.ts"
import type { Place, Strip } from "../page/flow.ts"
import { type Cell, linesIn, rowStrips } from "../page/row-strips.ts"
import type { Column } from "../page/style.ts"
import { addNode, type StructureNode } from "../tags/structure.ts"
import { longestWord, wrap } from "../text/wrap.ts"
import { columnsOf, rowStyles, wellSplit } from "./table-layout.ts"

type Row = FactsBlock["rows"][number]
/** Columns of labels and of values. */
type Columns = readonly [label: Column, value: Column]

/** The label's part of the width. */
const LABEL_PART = 0.29
/** The most of the width that a long label takes: alone in its row, or in a row of two facts. */
const MAX_LABEL_PART = 0.4
const MAX_PAIR_LABEL_PART = 0.22
/** In a compact report: two facts in a row, or one whose value takes the rest of the row. */
const PAIR_PARTS = [0.2, 0.3, 0.2, 0.3]

/** Labels and values; a compact report puts two short ones in a row. */
export function factsStrips({ rows }: Pick<FactsBlock, "rows">, place: Place): Strip[] {
  if (rows.length === 0) return []
  const table = addNode(place.node, "Table")
  const strips = place.style.compact ? pairedRows(rows, table, place) : singleRows(rows, table, place)
  return wellSplit(strips).map((strip, index) => (index === 0 ? { ...strip, gap: place.style.gaps.block } : strip))
}

function singleRows(rows: readonly Row[], table: StructureNode, place: Place): Strip[] {
  const [label, value] = columnsOf(
    place.style.column,
    [LABEL_PART, 1 - LABEL_PART],
    [longestLabel(rows, place, MAX_LABEL_PART)],
  )
  if (label === undefined || value === undefined) return []
  return rows.flatMap(row => rowStrips(cellsOf(row, [label, value], table, place), rowStyles(place.style).row))
}

function pairedRows(rows: readonly Row[], table: StructureNode, place: Place): Strip[] {
  const longest = longestLabel(rows, place, MAX_PAIR_LABEL_PART)
  const [label, value, nextLabel, nextValue] = columnsOf(place.style.column, PAIR_PARTS, [longest, 0, longest, 0])
  if (label === undefined || value === undefined || nextLabel === undefined || nextValue === undefined) return []
  const whole: Columns = [label, { x: value.x, width: nextValue.x + nextValue.width - value.x }]
  const left: Columns = [label, value]
  const right: Columns = [nextLabel, nextValue]
  const { row: styles } = rowStyles(place.style)
  const strips: Strip[] = []
  for (let index = 0; index < rows.length; index++) {
    const [row, next] = [rows[index], rows[index + 1]]
    if (row === undefined) break
    const paired = next !== undefined && isShort(row, left, place) && isShort(next, right, place)
    const cells = cellsOf(row, paired ? left : whole, table, place)
    if (paired) {
      cells.push(...cellsOf(next, right, table, place))
      index++
    }
    strips.push(...rowStrips(cells, styles))
  }
  return strips
}

/** Width of the longest word among the labels, but no more than this part of the whole. */
function longestLabel(rows: readonly Row[], { style }: Place, most: number): number {
  const { label: setting } = rowStyles(style)
  const widths = rows.map(({ label }) => longestWord([{ text: label }], setting))
  return Math.min(Math.max(...widths), style.column.width * most)
}

/** Whether a fact fits on one line of its columns. */
function isShort({ label, value }: Row, [labels, values]: Columns, { style }: Place): boolean {
  const styles = rowStyles(style)
  return (
    wrap([{ text: label }], styles.label, labels.width).length === 1 &&
    wrap(value, styles.cell, values.width).length === 1
  )
}

/** The cells of one fact: in the logical structure every fact is a row. */
function cellsOf({ label, value }: Row, [labels, values]: Columns, table: StructureNode, { style }: Place): Cell[] {
  const styles = rowStyles(style)
  const row = addNode(table, "TR")
  const name = addNode(row, "TH", { scope: "Row" })
  return [
    { column: labels, align: "start", lines: linesIn(name, wrap([{ text: label }], styles.label, labels.width)) },
    {
      column: values,
      align: "start",
      lines: linesIn(addNode(addNode(row, "TD"), "P"), wrap(value, styles.cell, values.width)),
    },
  ]
}
