/** Random numbers from a seed, so that a run can be reproduced: mulberry32 (Tommy Ettinger, public domain), 32 bits of state. */

export type Seeded = {
  /** From 0 up to, not including, 1. */
  readonly unit: () => number
  /** An integer from 0 up to, not including, `end`; 0 when that is less than 1. */
  readonly below: (end: number) => number
  readonly chance: (probability: number) => boolean
  /** True with probability 1/`times`. */
  readonly once: (times: number) => boolean
  /** @throws RangeError for an empty list */
  readonly pick: <T>(items: readonly T[]) => T
  /** Undefined for an empty list. */
  readonly pickIfAny: <T>(items: readonly T[]) => T | undefined
}

/** @param seed any integer */
export function seeded(seed: number): Seeded {
  let state = seed >>> 0
  const unit = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number): number => Math.floor(unit() * Math.max(end, 1))
  return {
    unit,
    below,
    chance: probability => unit() < probability,
    once: times => below(times) === 0,
    pick: items => {
      const item = items[below(items.length)]
      if (item === undefined) throw new RangeError("nothing to pick from")
      return item
    },
    pickIfAny: items => items[below(items.length)],
  }
}
