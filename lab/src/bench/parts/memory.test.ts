import { expect, test } from "vitest"
import { slope } from "./memory.ts"

test("a straight line has its own slope, and noise around it evens out", () => {
  const xs = Array.from({ length: 100 }, (_, x) => x)
  expect(slope(xs.map(x => ({ x, y: 3 * x + 7 })))).toBeCloseTo(3, 10)
  expect(slope(xs.map(x => ({ x, y: 500 + (x % 2 === 0 ? 50 : -50) })))).toBeCloseTo(0, 1)
})

test("one sample has no slope", () => {
  expect(slope([{ x: 1, y: 2 }])).toBeNaN()
  expect(slope([])).toBeNaN()
})
