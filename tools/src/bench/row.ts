/** What a bench found: one line of the table. */
export type Row = {
  readonly what: string
  /** Median over the rounds. */
  readonly value: number
  readonly unit: string
  /** How it was measured, or what it is to be held against. */
  readonly note: string
}

/** The middle of the values, the lower one of two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[(sorted.length - 1) >> 1] ?? Number.NaN
}
