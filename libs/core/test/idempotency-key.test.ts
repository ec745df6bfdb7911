import {
  IDEMPOTENCY_KEY_MAX_LENGTH,
  idempotencyKeyField,
  isIdempotencyKey,
  parseIdempotencyKey,
} from "@runseal/core/wire/idempotency-key"
import fc from "fast-check"
import { expect, test } from "vitest"

const keys = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: IDEMPOTENCY_KEY_MAX_LENGTH })

test("every key is read as it was written", () => {
  fc.assert(
    fc.property(keys, key => {
      expect(isIdempotencyKey(key)).toBe(true)
      expect(parseIdempotencyKey(idempotencyKeyField(key))).toBe(key)
    }),
  )
})

test("whatever a field holds, it names a key or none; without quotes it names itself", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), keys), field => {
      const key = parseIdempotencyKey(field)
      expect(key === undefined || isIdempotencyKey(key)).toBe(true)
      if (key !== undefined && !field.includes('"')) expect(key).toBe(field.trim())
    }),
  )
})

test("a field that came twice names none", () => {
  fc.assert(
    fc.property(keys, keys, (one, two) => {
      expect(parseIdempotencyKey(`${idempotencyKeyField(one)}, ${idempotencyKeyField(two)}`)).toBeUndefined()
    }),
  )
})

test("many backslashes are read in no time", () => {
  const started = performance.now()
  expect(parseIdempotencyKey(`"${"\\".repeat(15_999)}`)).toBeUndefined()
  expect(performance.now() - started).toBeLessThan(20_000)
})

test("a long field is refused in no time, whatever it holds: spaces within it are not looked at one by one", () => {
  const started = performance.now()
  for (let times = 0; times < 100; times++) expect(parseIdempotencyKey(`a${" ".repeat(60_000)}b`)).toBeUndefined()
  expect(performance.now() - started).toBeLessThan(20_000)
})
