import type { Line } from "../block.ts"
import type { StructureNode } from "../tags/structure.ts"
import type { Setting } from "../text/setting.ts"
import { type TextLine, wrap } from "../text/wrap.ts"
import type { Strip } from "./flow.ts"
import { marked, type Pen } from "./pen.ts"
import { setLine } from "./set-line.ts"
import type { Column } from "./style.ts"

type Passage = {
  readonly line: Line
  readonly setting: Setting
  readonly node: StructureNode
  readonly column: Column
  /** Room above the passage. */
  readonly gap?: number
  /** The whole passage stays together and with what follows. */
  readonly keepWithNext?: boolean
  /** Drawn behind each of its lines. */
  readonly ground?: (pen: Pen, top: number, height: number) => void
  /** Called when the first line is drawn. */
  readonly begin?: (pen: Pen, top: number) => void
}

/** One strip for each line of a passage; its first two lines stay together, and its last two. */
export function passageStrips(passage: Passage): Strip[] {
  const { node, column, setting, gap = 0, keepWithNext = false } = passage
  const lines = wrap(passage.line, setting, column.width)
  return lines.map((line, index) => ({
    height: line.leading,
    gap: index === 0 ? gap : 0,
    keepWithNext: keepWithNext || (lines.length > 1 && (index === 0 || index === lines.length - 2)),
    draw: (pen, top) => {
      passage.ground?.(pen, top, line.leading)
      if (index === 0) passage.begin?.(pen, top)
      marked(pen, node, () => setLine(pen, line, startOf(line, column, "start"), top))
    },
  }))
}

/** Where a line begins: text that runs from right to left ends at the left. */
export function startOf(line: TextLine, column: Column, align: "start" | "end"): number {
  const toTheRight = line.rightToLeft !== (align === "end")
  return toTheRight ? column.x + Math.max(0, column.width - line.width) : column.x
}
