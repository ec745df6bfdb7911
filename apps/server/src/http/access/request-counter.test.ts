/** Memory stays bounded, and every request is still counted. */
import { expect, test } from "vitest"
import { MAX_BUCKETS, memoryCounter, WINDOW_MS } from "./request-counter.ts"

const MILLION = 1_000_000
/** Room for so many buckets. */
const FEW = 10

function counterAt(start: number, maxBuckets?: number) {
  const clock = { now: start }
  const counter = memoryCounter(() => clock.now, maxBuckets)
  const place = async (bucket: string): Promise<number> => (await counter.count(bucket)).place
  return { clock, place }
}

test("of a million addresses in a minute as many are remembered as there is room for; the rest share one count", async () => {
  const { place } = counterAt(1)
  for (let i = 1; i <= MILLION; i++) {
    const expected = i <= MAX_BUCKETS ? 1 : i - MAX_BUCKETS
    if ((await place(`address ${i}`)) !== expected) expect.fail(`the place of address ${i}`)
  }
  expect(await place("address 1"), "who was there keeps counting").toBe(2)
  expect(await place(`address ${MILLION}`)).toBe(MILLION - MAX_BUCKETS + 1)
})

test("windows that have ended make room", async () => {
  const { clock, place } = counterAt(1, FEW)
  for (let i = 0; i < FEW; i++) await place(`early ${i}`)
  expect([await place("a"), await place("b")]).toEqual([1, 2])
  clock.now += WINDOW_MS
  for (let i = 0; i < FEW; i++) expect(await place(`late ${i}`)).toBe(1)
  expect(await place("late 0")).toBe(2)
  expect([await place("c"), await place("d")], "the shared window has ended too").toEqual([1, 2])
})

test("a window that is still live is never cleared for a newcomer", async () => {
  const { clock, place } = counterAt(1, 2)
  await place("first")
  clock.now += WINDOW_MS - 1
  await place("second")
  for (const name of ["x", "y", "z"]) await place(name)
  expect(await place("first")).toBe(2)
  clock.now += 1
  expect(await place("second")).toBe(2)
  expect(await place("first")).toBe(1)
})

test("a clock that was put back by a minute or more begins new windows", async () => {
  const { clock, place } = counterAt(10 * WINDOW_MS)
  expect([await place("a"), await place("a")]).toEqual([1, 2])
  clock.now -= WINDOW_MS - 1
  expect(await place("a")).toBe(3)
  clock.now -= 1
  expect(await place("a")).toBe(1)
})
