/** Counts over a number of seeds. */
import type { SeedResult } from "./simulate.ts"

/** Faults that must all occur in a simulation of some length, by the names of their counters. */
export const FAULTS = [
  "statement lost before",
  "statement lost after",
  "statement refused 40001",
  "statement refused 53100",
  "statement refused 57014",
  "statement refused 57P01",
  "statement refused XX000",
  "commit lost before",
  "commit lost after",
  "commit refused 40001",
  "commit took effect unheard",
  "idle transaction ended",
  "lock wait ended",
  "database restarted",
  "process killed",
  "head file not written",
  "clock set",
] as const

/** Answers to callers, what became of permits, and events between processes. */
export const EVENTS = [
  "answered",
  "answered again",
  "redeemed",
  "already_redeemed",
  "permit_invalid",
  "permit_not_open",
  "permit closed",
  "permit ended",
  "end sealed",
  "unavailable",
  "conflict",
  "rolled_back",
  "outcome_unknown",
  "waited for a lock",
  "older database refused",
] as const

export type Tally = {
  readonly add: (result: Pick<SeedResult, "counts">) => void
  readonly seeds: () => number
  readonly of: (what: string) => number
  /** Everything counted, by name. */
  readonly all: () => readonly (readonly [what: string, times: number])[]
}

export function createTally(): Tally {
  const counts = new Map<string, number>()
  let seeds = 0
  return {
    add: result => {
      seeds++
      for (const [what, times] of result.counts) counts.set(what, (counts.get(what) ?? 0) + times)
    },
    seeds: () => seeds,
    of: what => counts.get(what) ?? 0,
    all: () => [...counts].sort(([a], [b]) => (a < b ? -1 : 1)),
  }
}
