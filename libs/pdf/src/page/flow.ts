import type { StructureNode } from "../tags/structure.ts"
import type { Pen } from "./pen.ts"
import type { Style } from "./style.ts"

/** A horizontal piece of the report that is never cut: one line of text, one row, one drawing. Lengths in points. */
export type Strip = {
  readonly height: number
  /** Room above it, dropped at the top of a page. */
  readonly gap: number
  /** Stays on the page of the next strip. */
  readonly keepWithNext: boolean
  readonly draw: (pen: Pen, top: number) => void
  /** The table's header, drawn above the strip when the strip is the first of a page. */
  readonly header?: RepeatedHeader
}

export type RepeatedHeader = { readonly height: number; readonly draw: (pen: Pen, top: number) => void }

/** Puts strips on pages, one below the other in the text area. `open` gives the pen of a new page. */
export function flow(strips: readonly Strip[], { top, height }: Style["area"], open: () => Pen): void {
  let pen = open()
  let used = 0
  const newPage = (): void => {
    pen = open()
    used = 0
  }
  for (let index = 0; index < strips.length; ) {
    const end = endOfGroup(strips, index)
    if (used > 0 && used + heightOf(strips, index, end, used) > height) newPage()
    for (; index < end; index++) {
      const strip = strips[index]
      if (strip === undefined) break
      if (used > 0 && used + strip.gap + strip.height > height) newPage()
      if (used === 0 && strip.header !== undefined) {
        strip.header.draw(pen, top)
        used = strip.header.height
      } else if (used > 0) used += strip.gap
      strip.draw(pen, top + used)
      used += strip.height
    }
  }
}

/** One past the last strip that stays with the strip at `start`. */
function endOfGroup(strips: readonly Strip[], start: number): number {
  let end = start
  while (strips[end]?.keepWithNext && end + 1 < strips.length) end++
  return end + 1
}

function heightOf(strips: readonly Strip[], start: number, end: number, used: number): number {
  let height = 0
  for (let index = start; index < end; index++) {
    const strip = strips[index]
    if (strip !== undefined) height += strip.height + (used + height > 0 ? strip.gap : 0)
  }
  return height
}

/** A line of the outline and where it leads. `y` in points from the page's top. */
export type Bookmark = { readonly level: 1 | 2 | 3; readonly title: string; page: number; y: number }

/** Where blocks go: the node they belong to, the outline they add to, and how they are set. */
export type Place = { readonly node: StructureNode; readonly outline: Bookmark[]; readonly style: Style }
