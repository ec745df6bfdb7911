import fc from "fast-check"
import { expect, test } from "vitest"
import { compareBytes, concatBytes, equalBytes, utf8Decode, utf8Encode } from "./index.ts"
import * as node from "./utf8-encode.node.ts"
import * as portable from "./utf8-encode.portable.ts"

const bytesArbitrary = fc.uint8Array({ maxLength: 6, max: 3 })

test("bytes are ordered as Node's Buffer.compare orders them, a prefix first", () => {
  fc.assert(
    fc.property(bytesArbitrary, bytesArbitrary, (a, b) => {
      expect(Math.sign(compareBytes(a, b))).toBe(Buffer.compare(a, b))
      expect(equalBytes(a, b)).toBe(Buffer.compare(a, b) === 0)
    }),
    { numRuns: 1000 },
  )
})

test("concatenation is the parts in order, in memory of its own", () => {
  const first = Uint8Array.of(1, 2)
  const all = concatBytes(first, new Uint8Array(0), Uint8Array.of(3))
  first[0] = 9
  expect(all).toEqual(Uint8Array.of(1, 2, 3))
  expect(concatBytes()).toEqual(new Uint8Array(0))
})

test("UTF-8 is decoded strictly and a byte order mark is kept", () => {
  expect(utf8Decode(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe("\ufeffA")
  expect(utf8Decode(Uint8Array.of(0xc3, 0xa9, 0x00))).toBe("é\u0000")
  expect(utf8Decode(Uint8Array.of(0xc3))).toBeUndefined()
  expect(utf8Decode(Uint8Array.of(0xed, 0xa0, 0x80))).toBeUndefined()
  fc.assert(fc.property(fc.string({ unit: "binary" }), text => utf8Decode(utf8Encode(text)) === text))
})

test("Node's and the browser's UTF-8 agree on every text, lone surrogates too", () => {
  const units = fc.array(fc.constantFrom("a", "é", "—", "\ud83d\ude00", "\ud83d", "\ude00", "\u0000"), { maxLength: 9 })
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        units.map(parts => parts.join("")),
      ),
      text => {
        expect(node.utf8Encode(text)).toEqual(portable.utf8Encode(text))
      },
    ),
    { numRuns: 1000 },
  )
})
