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
