/** Which ordinals of a sequence have not come yet, in bounded memory. */

/** Most gaps that are kept; one beyond them counts as missing at once. */
export const GAPS_MAX = 1000

export type OrdinalGap = {
  readonly first: number
  readonly last: number
  /** Numbers of the runs beside it, where there are some: it comes after one and before the other. */
  readonly after?: number
  readonly before?: number
}

type OrdinalGaps = {
  /** Waits for these ordinals to come later; gives the gap back when too many are waited for. */
  readonly open: (gap: OrdinalGap) => OrdinalGap | undefined
  /** Takes an ordinal that came; false when it was not waited for. */
  readonly fill: (ordinal: number) => boolean
  /** What has not come. */
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
