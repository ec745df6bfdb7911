import { expect, test } from "vitest"
import { createMomentSource, MAX_AHEAD_MS } from "./moment-source.ts"

const NOON = Date.parse("2026-05-04T12:00:00.000Z")
const SKEW_MS = MAX_AHEAD_MS

/** The times of Moments minted under a clock that shows these, in milliseconds after noon. */
function minted(clock: readonly number[]): readonly number[] {
  let shown = 0
  const mint = createMomentSource(() => NOON + shown)
  return clock.map(at => {
    shown = at
    return Date.parse(mint().at) - NOON
  })
}

test("a clock that goes back a little is waited for", () => {
  expect(minted([0, 5000, 4000, 5000 - SKEW_MS, 5001])).toEqual([0, 5000, 5000, 5000, 5001])
})

test("after a clock that was far ahead for a moment, Moments are of the right time again", () => {
  const hour = 3_600_000
  expect(minted([0, hour, 10, 20, 15])).toEqual([0, hour, 10, 20, 20])
})
