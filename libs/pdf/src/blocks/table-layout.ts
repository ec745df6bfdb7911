import type { Strip } from "../page/flow.ts"
import type { RowStyle } from "../page/row-strips.ts"
import { type Column, HAIRLINE, PAGE, RULE, type Style, WASH } from "../page/style.ts"
import type { Setting } from "../text/setting.ts"

/** A table up to this height is not split. */
const SHORT_TABLE: number = PAGE.height / 8
/** So many first rows of a longer table stay on one page, and so many last rows. */
const TOGETHER = 3

type RowStyles = {
  readonly row: RowStyle
  readonly header: RowStyle
  readonly cell: Setting
  readonly label: Setting
}

/** The styles of a table's rows: dense ones in a compact report always. */
export function rowStyles({ settings, column, compact }: Style, dense = false): RowStyles {
  const close = compact || dense
  return {
    row: { padding: close ? 0.7 : 2.4, rule: { ink: HAIRLINE, weight: 0.5 }, column },
    header: { padding: close ? 1.2 : 2.8, rule: { ink: RULE, weight: 0.8 }, column, ground: WASH.plain },
    cell: close ? settings.dense_cell : settings.cell,
    label: close ? settings.dense_label : settings.label,
  }
}

/** Keeps a short table on one page, and the first and the last rows of a longer one together. */
export function wellSplit(strips: readonly Strip[]): Strip[] {
  const height = strips.reduce((sum, strip) => sum + strip.height, 0)
  const last = strips.length - 1
  return strips.map((strip, index) => {
    const keepWithNext = index < last && (height <= SHORT_TABLE || index < TOGETHER - 1 || index > last - TOGETHER)
    return keepWithNext ? { ...strip, keepWithNext } : strip
  })
}

/** Between the text of neighbouring columns. */
export const GUTTER = 10
/** A column that has just the width of its word must hold it, in points. */
const ROUNDING = 0.01
/** A box for a character fits in a column of this width. */
const NARROWEST = 34

/**
 * Columns by their shares of the whole, but none narrower than its longest word: that is, as far as all words fit the page.
 * @param words width of each column's longest word, in points
 */
export function columnsOf(whole: Column, shares: readonly number[], words: readonly number[] = []): Column[] {
  const room = whole.width - GUTTER * shares.length
  const sane = shares.map(share => (Number.isFinite(share) && share > 0 ? share : 0))
  const total = sane.reduce((sum, share) => sum + share, 0) || 1
  const needed = fitted(
    sane.map((_, index) => Math.max(NARROWEST, (words[index] ?? 0) + ROUNDING)),
    room,
  )
  const wanted = needed.map((width, index) => Math.max(width, ((sane[index] ?? 0) / total) * room))
  const excess = sumOf(wanted) - room
  const spare = sumOf(wanted) - sumOf(needed)
  let x = whole.x + GUTTER / 2
  return wanted.map((width, index) => {
    const part = spare > 0 ? (width - (needed[index] ?? 0)) / spare : 1 / wanted.length
    const column = { x, width: width - excess * part }
    x += column.width + GUTTER
    return column
  })
}

/** The widths; when their sum is above `room`, the widest ones are cut to one width so that all fit. */
function fitted(widths: readonly number[], room: number): readonly number[] {
  let left = room
  for (const [index, width] of widths.toSorted((a, b) => a - b).entries()) {
    const most = left / (widths.length - index)
    if (width > most) return widths.map(each => Math.min(each, most))
    left -= width
  }
  return widths
}

const sumOf = (widths: readonly number[]): number => widths.reduce((sum, width) => sum + width, 0)
