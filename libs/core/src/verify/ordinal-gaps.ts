/** The ordinals of a sequence that are still missing, in bounded memory. */

/** Most gaps that may still be filled; a further one counts as missing at once. */
export const GAPS_MAX = 1000

export type OrdinalGap = {
  readonly first: number
  readonly last: number
  /** Names of the documents before and behind the gap, where there are some. */
  readonly after?: string
  readonly before?: string
}

type OrdinalGaps = {
  /** Adds a gap, which later ordinals may fill; gives it back when there are too many. */
  readonly open: (gap: OrdinalGap) => OrdinalGap | undefined
  /** Takes an ordinal; false when it is in no gap. */
  readonly fill: (ordinal: number) => boolean
  /** The gaps that nothing filled. */
  readonly left: () => readonly OrdinalGap[]
}

export function ordinalGaps(): OrdinalGaps {
  const gaps: OrdinalGap[] = []
  return {
    open: gap => {
      if (gaps.length >= GAPS_MAX) return gap
      gaps.push(gap)
      return undefined
    },
    fill: ordinal => {
      const at = gaps.findIndex(({ first, last }) => first <= ordinal && ordinal <= last)
      const gap = gaps[at]
      if (gap === undefined) return false
      const parts = [
        { ...gap, last: ordinal - 1 },
        { ...gap, first: ordinal + 1 },
      ]
      gaps.splice(at, 1, ...parts.filter(({ first, last }) => first <= last))
      return true
    },
    left: () => gaps,
  }
}
