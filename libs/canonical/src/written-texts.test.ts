import fc from "fast-check"
import { expect, test } from "vitest"
import { CanonicalizeError, canonicalize, canonicalUtf8, digest, utf8Decode, writtenTexts } from "./index.ts"

test("a written text stands as it would be written again, wherever its object stands", () => {
  const leaf = { b: "é", a: [1, { c: null }] }
  const anchor = { leaf, entry: { z: true, a: leaf } }
  const document = { name: "document", anchors: [anchor, leaf] }
  const texts = writtenTexts()
  expect(utf8Decode(texts.write(leaf))).toBe(canonicalize(leaf))
  expect(utf8Decode(texts.write(anchor))).toBe(canonicalize(anchor))
  expect(canonicalUtf8(document, texts)).toEqual(canonicalUtf8(document))
  expect(digest(document, texts)).toBe(digest(document))
})

test("an object is written once", () => {
  let read = 0
  const object = {
    get member(): number {
      return ++read
    },
  }
  const texts = writtenTexts()
  expect(texts.bytesOf(object)).toBeUndefined()
  const bytes = texts.write(object)
  expect(texts.write(object)).toBe(bytes)
  expect(texts.bytesOf(object)).toBe(bytes)
  expect(utf8Decode(canonicalUtf8([object, { ...object }], texts))).toBe('[{"member":1},{"member":2}]')
})

test("an equal object is another one", () => {
  const texts = writtenTexts()
  texts.write({ a: 1 })
  expect(texts.bytesOf({ a: 1 })).toBeUndefined()
})

test("what has no canonical form is not written", () => {
  const texts = writtenTexts()
  const object = { a: Number.NaN }
  expect(() => texts.write(object)).toThrow(CanonicalizeError)
  expect(texts.bytesOf(object)).toBeUndefined()
})

test("a sealed object has the digest of the rest as its hash, and stands with it as it would be written again", () => {
  const key = fc.constantFrom("", "a", "gz", "hash ", "hasht", "kind", "Z", "ä", "__proto__", "0")
  const value = fc.oneof(
    fc.integer(),
    fc.string({ unit: "grapheme" }),
    fc.constant(null),
    fc.dictionary(key, fc.string()),
  )
  fc.assert(
    fc.property(fc.array(fc.dictionary(key, value, { maxKeys: 4 }), { maxLength: 4 }), listed => {
      const texts = writtenTexts()
      const all = listed.map(body => texts.seal(body))
      expect(all).toEqual(listed.map(body => ({ ...body, hash: digest(body) })))
      for (const sealed of all) expect(utf8Decode(texts.bytesOf(sealed)!)).toBe(canonicalize(sealed))
      expect(canonicalUtf8(all, texts)).toEqual(canonicalUtf8(all))
    }),
  )
})

test("texts that outgrow their first place stand as they stood", () => {
  const texts = writtenTexts()
  const objects = Array.from({ length: 40 }, (_, number) => texts.seal({ number, text: "x".repeat(1000 * number) }))
  for (const object of objects) expect(utf8Decode(texts.bytesOf(object)!)).toBe(canonicalize(object))
})

test("what cannot be sealed leaves nothing behind", () => {
  const texts = writtenTexts()
  expect(() => texts.seal({ a: "well-formed", b: "\ud800" })).toThrow(CanonicalizeError)
  const sealed = texts.seal({ a: 1 })
  expect(utf8Decode(texts.bytesOf(sealed)!)).toBe(canonicalize(sealed))
})
