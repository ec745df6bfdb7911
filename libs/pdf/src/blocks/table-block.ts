import type { Line, TableBlock } from "../block.ts"
import type { Place, RepeatedHeader, Strip } from "../page/flow.ts"
import { passageStrips } from "../page/passage.ts"
import { type Cell, drawRow, heightOfCell, linesIn, type RowStyle, rowStrips } from "../page/row-strips.ts"
import type { Column } from "../page/style.ts"
import { addNode, type StructureNode } from "../tags/structure.ts"
import type { Setting } from "../text/setting.ts"
import { holdsWords, longestWord, wrap } from "../text/wrap.ts"
import { columnsOf, GUTTER, rowStyles, wellSplit } from "./table-layout.ts"

export function tableStrips(block: TableBlock, place: Place): Strip[] {
  const { settings, gaps, column: whole } = place.style
  const styles = rowStyles(place.style, block.dense)
  const table = addNode(place.node, "Table")
  const columnsFor = (rows: TableBlock["rows"]): readonly Column[] =>
    columnsOf(
      whole,
      block.columns.map(({ share }) => share),
      block.columns.map(({ title }, at) =>
        Math.max(
          longestWord([{ text: title }], settings.column_title),
          ...rows.map(texts => longestWord(texts[at] ?? [], styles.cell)),
        ),
      ),
    )
  const heldBy =
    (columns: readonly Column[]) =>
    (texts: readonly Line[]): boolean =>
      columns.every(({ width }, at) => holdsWords(texts[at] ?? [], styles.cell, width))
  // The widest rows take no room from the others: they are set across the columns.
  const columns = columnsFor(block.rows.filter(heldBy(columnsFor(block.rows))))
  const isHeld = heldBy(columns)
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
    setting: settings.caption,
    node: addNode(table, "Caption"),
    column: whole,
    gap: gaps.block + 3,
    keepWithNext: true,
  })
  const titles = block.columns.map(({ title }): Line => [{ text: title }])
  const headCells = rowOf(addNode(addNode(table, "THead"), "TR"), "TH", titles, settings.column_title)
  const body = addNode(table, "TBody")
  const head = rowStrips(headCells, styles.header)
  const header = repeated(headCells, styles.header)
  const rows = block.rows.flatMap((texts, index) => {
    const row = addNode(body, "TR")
    const cells = isHeld(texts)
      ? rowOf(row, "TD", texts, styles.cell)
      : [acrossColumns(row, titles, texts, styles.cell, whole)]
    return afterHeader(rowStrips(cells, styles.row, header), index === 0)
  })
  return [
    ...caption,
    ...head.map((strip, index) => ({ ...strip, gap: index === 0 ? 3 : 0, keepWithNext: true })),
    ...wellSplit(rows),
  ]
}

/** The cells of a row one below the other, each behind the title of its column. */
function acrossColumns(
  row: StructureNode,
  titles: readonly Line[],
  texts: readonly Line[],
  setting: Setting,
  whole: Column,
): Cell {
  const column = { x: whole.x + GUTTER / 2, width: whole.width - GUTTER }
  const lines = titles.flatMap(([title], index) => {
    const [first, ...rest] = texts[index] ?? []
    if (title === undefined || first === undefined) return []
    const { newLine: _, ...inline } = first
    const text: Line = [{ text: `${title.text} `, tone: "muted" }, inline, ...rest]
    return linesIn(addNode(row, "TD"), wrap(text, setting, column.width))
  })
  return { column, align: "start", lines }
}

/** The header above the first row is the table's own. */
function afterHeader(strips: readonly Strip[], isFirst: boolean): Strip[] {
  return strips.map((strip, index) => {
    if (!isFirst || index > 0) return strip
    const { header: _, ...rest } = strip
    return rest
  })
}

/** The header for further pages; undefined for one so high that little room would be left for rows. */
function repeated(cells: readonly Cell[], styles: RowStyle): RepeatedHeader | undefined {
  const height = Math.max(0, ...cells.map(heightOfCell)) + 2 * styles.padding
  const highest = 120
  if (height > highest) return undefined
  return { height, draw: (pen, top) => drawRow(pen, cells, styles, top, height, true) }
}
