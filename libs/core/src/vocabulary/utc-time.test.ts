import { expect, test } from "vitest"
import { unixTime } from "./utc-time.ts"

test("seconds are printed as RFC 3339 in UTC", () => {
  expect(unixTime(1_767_225_600)).toBe("2026-01-01T00:00:00Z")
})

test.each([-1, 253_402_300_800, Number.MAX_SAFE_INTEGER, Number.NaN])(
  "%s, which is no such date, is printed bare",
  n => {
    expect(unixTime(n)).toBe(`Unix second ${n}`)
  },
)
