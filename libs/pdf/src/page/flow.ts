import type { Pen } from "./pen.ts"
import type { Style } from "./style.ts"

/** A horizontal piece of the report that is never cut: one line of text, one row, one drawing. Lengths in points. */
export type Strip = {
  readonly height: number
  /** Room above it, dropped at the top of a page. */
  readonly gap: number
  /** Stays on the page of the next strip. */
  readonly keep: boolean
  /** Begins a page of its own. */
  readonly pageBreak?: true
  readonly draw: (pen: Pen, top: number) => void
  /** Drawn again above the strip when it comes first on a page: a table's header. */
  readonly again?: Again
}

export type Again = { readonly height: number; readonly draw: (pen: Pen, top: number) => void }

/** Puts strips on pages, one below the other in the text area. `open` gives the pen of a new page. */
export function flow(strips: readonly Strip[], { top, height }: Style["area"], open: () => Pen): void {
  let pen = open()
  let used = 0
  const turn = (): void => {
    pen = open()
    used = 0
  }
  for (let index = 0; index < strips.length; ) {
    const end = endOfGroup(strips, index)
    if (strips[index]?.pageBreak && used > 0 && end > index + 1) turn()
    if (used > 0 && used + heightOf(strips, index, end, used) > height) turn()
    for (; index < end; index++) {
      const strip = strips[index]
      if (strip === undefined) break
      if (used > 0 && used + strip.gap + strip.height > height) turn()
      if (used === 0 && strip.again !== undefined) {
        strip.again.draw(pen, top)
        used = strip.again.height
      } else if (used > 0) used += strip.gap
      strip.draw(pen, top + used)
      used += strip.height
    }
  }
}

/** One past the last strip that stays with the strip at `start`: a page break stays with what follows and with nothing before. */
function endOfGroup(strips: readonly Strip[], start: number): number {
  let end = start
  while (strips[end]?.keep && end + 1 < strips.length && !strips[end + 1]?.pageBreak) end++
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
