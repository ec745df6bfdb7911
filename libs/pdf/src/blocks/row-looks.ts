import type { Strip } from "../page/flow.ts"
import type { RowLook } from "../page/row-strips.ts"
import { HAIRLINE, PAGE, RULE, type Style, WASH } from "../page/style.ts"
import type { Setting } from "../text/setting.ts"

/** A table up to this height is not split. */
const SHORT_TABLE: number = PAGE.height / 6
/** Rows at the beginning and at the end of a longer table that are not parted. */
const TOGETHER = 3

type RowLooks = {
  readonly row: RowLook
  readonly header: RowLook
  readonly cell: Setting
  readonly label: Setting
}

/** Rows for reading, or rows for looking up: these in a compact report always. */
export function rowLooks({ settings, column, compact }: Style, dense = false): RowLooks {
  const close = compact || dense
  return {
    row: { padding: close ? 1 : 3.2, rule: { ink: HAIRLINE, weight: 0.5 }, column },
    header: { padding: close ? 1.6 : 3.6, rule: { ink: RULE, weight: 0.8 }, column, ground: WASH.plain },
    cell: close ? settings.dense_cell : settings.cell,
    label: close ? settings.dense_label : settings.label,
  }
}

/** Short tables stay on one page; of others some rows stand together before and after the turn of a page. */
export function wellSplit(strips: readonly Strip[]): Strip[] {
  const height = strips.reduce((sum, strip) => sum + strip.height, 0)
  const last = strips.length - 1
  return strips.map((strip, index) => {
    const keep = index < last && (height <= SHORT_TABLE || index < TOGETHER - 1 || index > last - TOGETHER)
    return keep ? { ...strip, keep } : strip
  })
}
