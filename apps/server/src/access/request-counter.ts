/** What counting requests gives: each its place in its window. */

/** Length of a window, which begins with its bucket's first request. docs/api.md, "Limits". */
export const WINDOW_MS = 60_000

export type Counted = {
  /** Place of the request in its window: 1, 2, 3 … */
  readonly place: number
  /** Milliseconds since the epoch. */
  readonly window_start: number
}

export type RequestCounter = {
  /**
   * Counts a request. Every request of a window gets a place of its own, whoever counts at the same time.
   * @throws StoreError when it could not be counted
   */
  readonly count: (bucket: string) => Promise<Counted>
  readonly close: () => Promise<void>
}
