import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isValidAt, parseUtcSeconds } from "./validity.ts"

describe("a time of key validity", () => {
  test.each([
    ["1970-01-01T00:00:00Z", 0],
    ["2021-01-12T11:53:27Z", 1_610_452_407],
    ["2022-12-31T23:59:59.999Z", 1_672_531_199],
    ["2024-02-29T00:00:00.000000001Z", 1_709_164_800],
  ])("%s is %i seconds", (text, seconds) => {
    expect(parseUtcSeconds(text)).toBe(seconds)
  })

  test.each([
    "2021-02-29T00:00:00Z",
    "2021-02-30T00:00:00Z",
    "2021-13-01T00:00:00Z",
    "2021-01-01T24:00:00Z",
    "2021-01-01T00:00:60Z",
    "2021-01-01T00:00:00",
    "2021-01-01T00:00:00z",
    "2021-01-01T00:00:00+00:00",
    "2021-01-01 00:00:00Z",
    "2021-01-01T00:00Z",
    "2021-01-01T00:00:00.Z",
    "2021-01-01",
    "+002021-01-01T00:00:00Z",
    " 2021-01-01T00:00:00Z",
    "",
  ])("%j is refused", text => {
    expect(parseUtcSeconds(text)).toBeUndefined()
  })

  test("of any second between the years 0 and 9999 reads back", () => {
    const date = fc.date({
      min: new Date("0000-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59Z"),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(date, at => {
        expect(parseUtcSeconds(at.toISOString())).toBe(Math.floor(at.getTime() / 1000))
      }),
    )
  })
})

test("validity includes both ends, and has no end when none is given", () => {
  expect([9, 10, 20, 21].map(time => isValidAt({ validFrom: 10, validTo: 20 }, time))).toEqual([
    false,
    true,
    true,
    false,
  ])
  expect(isValidAt({ validFrom: 10 }, Number.MAX_SAFE_INTEGER)).toBe(true)
})
