import type { Column } from "../page/style.ts"

/** Between the text of neighbouring columns. */
const GUTTER = 10
/** A column narrower than this could not hold a stand-in. */
const NARROWEST = 34

/** Columns by their shares of the whole, none too narrow. */
export function columnsOf(whole: Column, shares: readonly number[]): Column[] {
  const room = whole.width - GUTTER * shares.length
  const sane = shares.map(share => (Number.isFinite(share) && share > 0 ? share : 0))
  const total = sane.reduce((sum, share) => sum + share, 0) || 1
  const wanted = sane.map(share => Math.max(NARROWEST, (share / total) * room))
  const excess = wanted.reduce((sum, width) => sum + width, 0) - room
  const spare = wanted.reduce((sum, width) => sum + (width - NARROWEST), 0)
  let x = whole.x + GUTTER / 2
  return wanted.map(width => {
    const fitted = spare > 0 ? width - (excess * (width - NARROWEST)) / spare : room / shares.length
    const column = { x, width: fitted }
    x += fitted + GUTTER
    return column
  })
}
