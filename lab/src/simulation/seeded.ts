/** The random numbers of a simulation, from one seed: mulberry32 (Tommy Ettinger, public domain). */

export type Seeded = {
  /** From 0 up to, not including, 1. */
  readonly unit: () => number
  /** From 0 up to, not including, `end`. */
  readonly below: (end: number) => number
  readonly chance: (probability: number) => boolean
  /** @throws RangeError for an empty list */
  readonly pick: <T>(items: readonly T[]) => T
}

export function seeded(seed: number): Seeded {
  let state = seed >>> 0
  const unit = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number): number => Math.floor(unit() * end)
  return {
    unit,
    below,
    chance: probability => unit() < probability,
    pick: items => {
      const item = items[below(items.length)]
      if (item === undefined) throw new RangeError("nothing to pick from")
      return item
    },
  }
}
