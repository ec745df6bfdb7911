/** Whether it is in doubt that anything can be sealed: after the start, and since a request failed for the record store's sake. */
export type Doubt = {
  readonly raise: () => void
  /** How often it was raised. */
  readonly times: () => number
  /** Ends what was raised so far, or up to so many times. */
  readonly settle: (times?: number) => void
  readonly stands: () => boolean
}

export function openDoubt(): Doubt {
  let raised = 1
  let settled = 0
  return {
    raise: () => void raised++,
    times: () => raised,
    settle: (times = raised) => {
      settled = Math.max(settled, times)
    },
    stands: () => raised > settled,
  }
}
