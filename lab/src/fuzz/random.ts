/** Random numbers from a seed, so that a fuzz run can be reproduced. */
export type Random = {
  /** An integer from 0 up to, not including, `below`; 0 when that is less than 1. */
  readonly below: (below: number) => number
  /** One of the items; undefined when there is none. */
  readonly pick: <T>(items: readonly T[]) => T | undefined
  /** True with probability 1/`times`. */
  readonly once: (times: number) => boolean
}

/** Mulberry32 (Tommy Ettinger): 32 bits of state, enough to choose mutations. @param seed any integer */
export function randomOf(seed: number): Random {
  let state = seed | 0
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * Math.max(limit, 1))
  }
  return { below, pick: items => items[below(items.length)], once: times => below(times) === 0 }
}
