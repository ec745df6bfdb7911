/** Waits between attempts that take no time; deadlines stay real. */
import { PLATFORM, type Platform } from "../src/platform.ts"
import { DEADLINE_DEFAULT_MS, TIMEOUT_DEFAULT_MS } from "../src/settings.ts"

export type QuickWaits = Pick<Platform, "now" | "sleep" | "random"> & {
  /** Milliseconds of every wait so far. */
  readonly waits: number[]
}

/** A clock that moves only with the waits, from `startMs`, and randomness that is always `chance`. */
export function quickWaits(chance = 0.5, startMs = Date.parse("2026-01-15T12:00:00Z")): QuickWaits {
  const waits: number[] = []
  return {
    waits,
    now: () => startMs + waits.reduce((total, ms) => total + ms, 0),
    random: () => chance,
    sleep: async (ms, signal) => {
      if (ms === TIMEOUT_DEFAULT_MS || ms === DEADLINE_DEFAULT_MS) return await PLATFORM.sleep(ms, signal)
      waits.push(ms)
    },
  }
}
