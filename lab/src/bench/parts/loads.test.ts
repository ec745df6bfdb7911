import { expect, test } from "vitest"
import { QUICK } from "../bench-plan.ts"
import type { Measured } from "../measured-load.ts"
import { inTurn, loadSection, lockRows, range, times } from "./loads.ts"

const cost = {
  mainMicros: 1,
  workerMicros: 1,
  databaseMicros: 1,
  walBytes: 1,
  walSyncs: 1,
  diskBytes: 1,
  texts: 0,
  textBytes: 0,
  databaseLockMicros: 300,
  batches: { ahead: 3, locked: 1, again: 0 },
}
const round = (perSecond: number, micros = 1000): Measured => ({
  answers: perSecond,
  perSecond,
  p50: 1,
  p99: 2,
  slowest: 3,
  cost: { ...cost, serverMicros: micros, lockMicros: 500 },
  idle: 0.25,
  verificationMicros: 50,
  loopDelayP99: 1,
  memory: 1,
})
const rows = {
  slow: { what: "slow", rounds: [round(100), round(300), round(200)] },
  fast: { what: "fast", rounds: [round(200), round(900), round(400)] },
}

test("loads are measured in turn, round by round", async () => {
  const order: string[] = []
  const side = (what: string) => ({
    what,
    once: async () => {
      order.push(what)
      return round(1)
    },
  })
  const measured = await inTurn({ plan: { ...QUICK, memoryMinutes: 1, rounds: 2 }, say: () => {} }, [
    side("a"),
    side("b"),
  ])
  expect(order).toEqual(["a", "b", "a", "b"])
  expect(measured.map(({ rounds }) => rounds.length)).toEqual([2, 2])
})

test("a table has medians and ranges, and the time of one answer in verifications", () => {
  const { rows: lines } = loadSection("title", [rows.slow])
  // 200 a second are 5,000 µs each, in which one core does a hundred verifications of 50 µs.
  expect(lines[0]?.slice(0, 3)).toEqual(["slow", "200 (100–300)", "100"])
  expect(lines[0]?.[7]).toBe("25.0")
})

test("one load is compared with another within each round", () => {
  expect(times(rows.fast, rows.slow)).toBe("2.00 ×")
  expect(range({ what: "one", rounds: [round(7)] }, ({ perSecond }) => perSecond)).toBe("")
})

test("the rate that the lock allows is computed of the time it is held", () => {
  expect(lockRows(rows.slow, "runs").map(({ value }) => value)).toEqual([500, 300, 2000])
})
