import fc from "fast-check"
import { expect, test } from "vitest"
import { parseRetryAfter } from "./retry.ts"

const NOW = Date.parse("2026-01-15T12:00:00.000Z")

test.each([
  ["0", 0],
  ["120", 120],
  ["Thu, 15 Jan 2026 12:00:30 GMT", 30],
  ["Thu, 15 Jan 2026 11:59:30 GMT", 0],
])("Retry-After %s asks for %i seconds", (field, seconds) => {
  expect(parseRetryAfter(field, NOW)).toBe(seconds)
})

test("a part of a second counts as a whole one", () => {
  expect(parseRetryAfter("Thu, 15 Jan 2026 12:00:30 GMT", NOW + 1)).toBe(30)
})

test.each([
  null,
  "",
  "-1",
  "1.5",
  "+3",
  "1e3",
  "9999999999",
  "soon",
  "2026-01-15T12:00:30Z",
  "Thu, 99 Jan 2026 12:00:30 GMT",
  "Thursday, 15-Jan-26 12:00:30 GMT",
])("Retry-After %s says nothing", field => {
  expect(parseRetryAfter(field, NOW)).toBeUndefined()
})

test("whatever the field holds, it asks for a whole number of seconds or nothing", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.date({ noInvalidDate: true }).map(date => date.toUTCString()),
      ),
      field => {
        const seconds = parseRetryAfter(field, NOW)
        expect(seconds === undefined || (Number.isSafeInteger(seconds) && seconds >= 0)).toBe(true)
      },
    ),
  )
})
