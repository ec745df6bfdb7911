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
  /** The first line of a heading. */
  readonly opensPart?: true
  readonly draw: (pen: Pen, top: number) => void
  /** The table's header, drawn above the strip when the strip is the first of a page. */
  readonly header?: RepeatedHeader
}

export type RepeatedHeader = { readonly height: number; readonly draw: (pen: Pen, top: number) => void }

/** A last page that is filled less than this part of the height has too little on it to be a page. */
const LAST_PAGE_FILLED = 0.3
/** So much of the height a last page takes at most when it begins earlier than it had to. */
const LAST_PAGE_MOST = 0.8

/**
 * Puts strips on pages, one below the other in the text area. `open` gives the pen of a new page. A last page with a few lines begins earlier,
 * where a part begins, so that no page holds only the end of something.
 */
export function flow(strips: readonly Strip[], area: Style["area"], open: () => Pen): void {
  const begins = lastPageBegins(strips, area.height)
  let pen = open()
  for (const { strip, at, opensPage, header } of positions(strips, area.height, begins)) {
    if (opensPage) pen = open()
    header?.draw(pen, area.top)
    strip.draw(pen, area.top + at)
  }
}

type Position = {
  readonly strip: Strip
  readonly index: number
  /** From the top of the text area. */
  readonly at: number
  readonly opensPage: boolean
  /** Drawn above it. */
  readonly header?: RepeatedHeader
}

/** Where each strip is. @param begins the strip with which a page begins whether or not it has to; undefined: none */
function* positions(strips: readonly Strip[], height: number, begins?: number): Generator<Position> {
  let used = 0
  let opensPage = false
  const newPage = (): void => {
    opensPage = true
    used = 0
  }
  for (let index = 0; index < strips.length; ) {
    const end = endOfGroup(strips, index)
    if (used > 0 && (index === begins || used + heightOf(strips, index, end, used) > height)) newPage()
    for (; index < end; index++) {
      const strip = strips[index]
      if (strip === undefined) break
      if (used > 0 && used + strip.gap + strip.height > height) newPage()
      const header = used === 0 ? strip.header : undefined
      if (header !== undefined) used = header.height
      else if (used > 0) used += strip.gap
      yield { strip, index, at: used, opensPage, ...(header === undefined ? {} : { header }) }
      opensPage = false
      used += strip.height
    }
  }
}

/** The strip with which the last page begins so that it is a page, the nearest; undefined where it is one, or cannot be made one. */
function lastPageBegins(strips: readonly Strip[], height: number): number | undefined {
  let first = 0
  let used = 0
  let pages = 1
  for (const { strip, index, at, opensPage } of positions(strips, height)) {
    if (opensPage) {
      first = index
      pages++
    }
    used = at + strip.height
  }
  if (pages === 1 || used >= height * LAST_PAGE_FILLED) return undefined
  const starts = groupStarts(strips).filter(start => start < first)
  const isPage = (start: number): boolean => {
    const tail = heightOf(strips, start, strips.length, 0)
    return tail >= height * LAST_PAGE_FILLED && tail <= height * LAST_PAGE_MOST
  }
  return starts.findLast(start => strips[start]?.opensPart === true && isPage(start)) ?? starts.findLast(isPage)
}

/** The strips with which a page may begin. */
function groupStarts(strips: readonly Strip[]): readonly number[] {
  const starts: number[] = []
  for (let start = 0; start < strips.length; start = endOfGroup(strips, start)) starts.push(start)
  return starts
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
