import fc from "fast-check"
import { expect, test } from "vitest"
import { pipelineDuration } from "./sections/metadata.ts"

test.each([
  [4, 4_321, "4 ms (4.321 ms wall-clock)"],
  [1, 1_000, "1 ms (1.000 ms wall-clock)"],
  [86_400_000, 86_400_000_007, "86400000 ms (86400000.007 ms wall-clock)"],
  [0, 999, "0.999 ms (sub-millisecond)"],
  [0, 1, "0.001 ms (sub-millisecond)"],
  [12, undefined, "12 ms (legacy schema: sub-millisecond precision is unavailable)"],
  [12, 0, "12 ms (legacy schema: sub-millisecond precision is unavailable)"],
  [0, 0, "< 1 ms (both recorded durations are 0)"],
  [0, undefined, "< 1 ms (both recorded durations are 0)"],
])("%s ms and %s µs are spelled %s", (ms, us, spelling) => {
  expect(pipelineDuration(ms, us)).toBe(spelling)
})

test("of one millisecond or more, a duration is spelled as n ms and n.nnn ms, and both agree", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000, max: 1e12 }), us => {
      const ms = Math.floor(us / 1000)
      const [, whole, exact] = /^(\d+) ms \((\d+\.\d{3}) ms wall-clock\)$/.exec(pipelineDuration(ms, us)) ?? []
      expect([whole, Math.round(Number(exact) * 1000)]).toEqual([String(ms), us])
    }),
  )
})
