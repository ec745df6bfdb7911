import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { decodeEntryBundle, encodeEntryBundle, MAX_ENTRY_BYTES } from "./entry-bundle.ts"

const entry = fc.uint8Array({ maxLength: 40 })

describe("an entry bundle", () => {
  test("is each entry after its length as a big-endian uint16", () => {
    const bundle = encodeEntryBundle([Uint8Array.of(7, 8), Uint8Array.of(), new Uint8Array(258)])
    expect([...bundle.subarray(0, 9)]).toEqual([0, 2, 7, 8, 0, 0, 1, 2, 0])
    expect(bundle.length).toBe(266)
  })

  test("reads back", () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 256 }), entries => {
        expect(decodeEntryBundle(encodeEntryBundle(entries), entries.length)).toEqual(entries)
      }),
    )
  })

  test("is read wherever it lies in a buffer", () => {
    const bundle = encodeEntryBundle([Uint8Array.of(1), Uint8Array.of(2)])
    const within = Uint8Array.from([9, 9, ...bundle]).subarray(2)
    expect(decodeEntryBundle(within, 2)).toEqual([Uint8Array.of(1), Uint8Array.of(2)])
  })

  test("is refused with a missing, extra or cut entry", () => {
    const bundle = encodeEntryBundle([Uint8Array.of(1), Uint8Array.of(2, 3)])
    expect(decodeEntryBundle(bundle, 1)).toBeUndefined()
    expect(decodeEntryBundle(bundle, 3)).toBeUndefined()
    for (let length = 0; length < bundle.length; length++) {
      expect(decodeEntryBundle(bundle.subarray(0, length), 2)).toBeUndefined()
    }
    expect(decodeEntryBundle(Uint8Array.from([...bundle, 0]), 2)).toBeUndefined()
  })

  test("holds 1 to 256 entries of at most 65,535 bytes", () => {
    const longest = new Uint8Array(MAX_ENTRY_BYTES)
    expect(decodeEntryBundle(encodeEntryBundle([longest]), 1)).toEqual([longest])
    expect(() => encodeEntryBundle([new Uint8Array(MAX_ENTRY_BYTES + 1)])).toThrow(RangeError)
    expect(() => encodeEntryBundle([])).toThrow(RangeError)
    expect(() => encodeEntryBundle(Array.from({ length: 257 }, () => Uint8Array.of()))).toThrow(RangeError)
    expect(decodeEntryBundle(new Uint8Array(2 * 257), 257)).toBeUndefined()
    expect(decodeEntryBundle(Uint8Array.of(), 0)).toBeUndefined()
  })

  test("of arbitrary bytes never makes the reader throw, and has one spelling", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.integer({ min: -1, max: 10 }), (bytes, count) => {
        const entries = decodeEntryBundle(bytes, count)
        expect(entries === undefined || encodeEntryBundle(entries)).toEqual(entries === undefined || bytes)
      }),
    )
  })
})
