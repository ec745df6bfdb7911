/** Numbers that look random and are the same for the same seed: mulberry32 (Tommy Ettinger, public domain). */

export type Random = {
  /** From 0 up to, not including, 1. */
  readonly unit: () => number
  /** The value, give or take three tenths of it. */
  readonly about: (value: number) => number
  /** Exponentially distributed, with this mean: the gaps between independent arrivals. */
  readonly gap: (mean: number) => number
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const unit = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { unit, about: value => value * (0.7 + 0.6 * unit()), gap: mean => -Math.log(1 - unit()) * mean }
}
