/** A clock for tests: it runs like the machine's from a fixed noon, and can be moved on. No test waits for midnight. */

export type TestClock = {
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Milliseconds that nobody sets; absent: the clock is never stepped, only moved on or back with them. */
  readonly uptimeMs?: () => number
  /** Moves the clock on, or back. */
  readonly advance: (milliseconds: number) => void
}

const NOON = Date.parse("2026-05-04T12:00:00.000Z")

export function testClock(): TestClock {
  const started = performance.now()
  let moved = 0
  return {
    nowMs: () => NOON + moved + Math.floor(performance.now() - started),
    advance: milliseconds => {
      moved += milliseconds
    },
  }
}

/** That of the machine, by which tokens of a real provider are dated; it can be moved on. */
export function machineClock(): TestClock {
  let moved = 0
  return {
    nowMs: () => Date.now() + moved,
    advance: milliseconds => {
      moved += milliseconds
    },
  }
}
