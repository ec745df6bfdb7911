import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  canonicalize,
  digest,
  digestWithout,
  isJsonValue,
  type JsonObject,
  type JsonValue,
  parseCanonical,
  parseStrictJson,
  readCanonical,
  sha256Hex,
  utf8Decode,
  utf8Encode,
} from "./index.ts"

/** What the strict reader makes of a text; undefined when it refuses it. */
function strictly(text: string): unknown {
  try {
    return parseStrictJson(text)
  } catch {
    return undefined
  }
}

describe("a text that is canonical already", () => {
  test("is read as the strict reader reads it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), value => {
        fc.pre(isJsonValue(value))
        const text = canonicalize(value)
        expect(parseCanonical(text)).toEqual(parseStrictJson(text))
        expect(readCanonical(utf8Encode(text))?.value).toEqual(parseStrictJson(text))
      }),
    )
  })

  test("keeps a key that every object inherits", () => {
    const text = '{"__proto__":1,"constructor":{"a":[]},"toString":null}'
    expect(Object.getOwnPropertyNames(parseCanonical(text))).toEqual(["__proto__", "constructor", "toString"])
  })
})

/** Every object of a value with the number of objects and arrays around it. */
function objectsIn(value: JsonValue, depth = 0): readonly (readonly [object: JsonObject, depth: number])[] {
  if (typeof value !== "object" || value === null) return []
  const inside = Object.values(value).flatMap(item => objectsIn(item, depth + 1))
  return isObject(value) ? [[value, depth], ...inside] : inside
}
/** Keys that look like array indices are enumerated in another order than the text has: offsets of such a text are unknown. */
const hasPlainKeys = (value: JsonValue): boolean =>
  objectsIn(value).every(([object]) => Object.keys(object).every(key => !/^\d+$/.test(key)))
const isObject = (value: JsonValue): value is JsonObject => typeof value === "object" && !Array.isArray(value)

/** Bytes that are known to be a text, or the part of one between two ASCII characters. */
const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && utf8Decode(bytes)

test("a canonical text whose keys look like array indices is read", () => {
  const text = '{"10":1,"9":{"2":{},"a":1}}'
  const read = readCanonical(text)
  expect(read?.value).toEqual(parseStrictJson(text))
  expect(canonicalize(read?.value ?? null)).toBe(text)
})

describe("the objects of a canonical text", () => {
  const texts = fc
    .jsonValue({ stringUnit: "binary", maxDepth: 7 })
    .map((value): unknown => ({ "": value, a: ['"', "\\"], z: { "": {} } }))
    .filter(isJsonValue)
    .map(value => canonicalize(value))

  test("are known by their own text, to the depth of a record's parts", () => {
    fc.assert(
      fc.property(texts, text => {
        const read = readCanonical(text)
        fc.pre(read !== undefined && hasPlainKeys(read.value))
        for (const [object, depth] of objectsIn(read.value))
          expect(textOf(read.bytesOf(object))).toBe(depth <= 4 ? canonicalize(object) : undefined)
        expect(read.bytesOf({})).toBeUndefined()
        expect(read.piecesWithout({}, "a")).toBeUndefined()
      }),
    )
  })

  test("and by their text without any one member", () => {
    fc.assert(
      fc.property(texts, text => {
        const read = readCanonical(text)
        fc.pre(read !== undefined && hasPlainKeys(read.value))
        for (const [object] of objectsIn(read.value).filter(([, depth]) => depth <= 4))
          for (const name of [...Object.keys(object), "no such member"]) {
            const rest = Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))
            expect(read.piecesWithout(object, name)?.map(textOf).join("")).toBe(canonicalize(rest))
          }
      }),
    )
  })

  test("give the digests that writing them gives, also inside a value that is new", () => {
    const text = '{"hash":{"b":{}},"é":{"hash":"x","list":[{"a":"\\n"}],"z":1}}'
    const read = readCanonical(text)
    if (read === undefined || !isObject(read.value)) throw new Error("the text is canonical")
    const { é: part = null, hash = null } = read.value
    const made = { later: part, first: [hash] }
    expect(digest(made, read)).toBe(digest(made))
    expect(digest(read.value, read)).toBe(sha256Hex(text))
    expect(digestWithout(read.value, "hash", read)).toBe(digestWithout(read.value, "hash"))
    expect(isObject(part) && digestWithout(part, "hash", read)).toBe(digest({ list: [{ a: "\n" }], z: 1 }))
  })
})

describe("a text that is not", () => {
  const others: readonly (readonly [what: string, text: string])[] = [
    ["a duplicate key", '{"a":1,"a":1}'],
    ["a duplicate key, once escaped", '{"a":1,"\\u0061":1}'],
    ["a duplicate key whose values differ in length", '{"a":"1","a":""1"","b":2}'],
    ["a duplicate key whose last value is as long as both", '{"a":"1","a":"234567"}'],
    ["a duplicate key inside a list", '[{"a":"x","b":1,"a":"y"},{"a":"x"}]'],
    ["a number where the last of two values is shorter", '{"a":1000,"a":1e3}'],
    ["numbered keys out of order", '{"ab":1,"10":1}'],
    ["members out of order", '{"b":1,"a":2}'],
    ["whitespace", '{"a": 1}'],
    ["a line end behind it", "[1]\n"],
    ["a byte order mark", "\ufeff[1]"],
    ["another spelling of a number", "1.0"],
    ["negative zero", "-0"],
    ["a number beyond double", "1e400"],
    ["an integer that is not exact", "9007199254740993"],
    ["an escape that need not be", '"\\u0041"'],
    ["an escape in capitals", '"\\u001F"'],
    ["an escaped solidus", '"\\/"'],
    ["an escaped lone surrogate", '"\\ud800"'],
    ["a raw lone surrogate", '"\ud800"'],
    ["nesting beyond the bound", "[".repeat(67) + "]".repeat(67)],
    ["data behind it", "{}{}"],
    ["an object that does not end", '{"a":1'],
    ["nothing", ""],
    ["more than is tried", `"${"a".repeat(4_194_304)}"`],
  ]
  test.each(others)("is not read: %s", (_, text) => {
    expect(parseCanonical(text)).toBeUndefined()
  })

  test("is never read otherwise than strictly, whatever is changed in it", () => {
    const changed = fc
      .tuple(fc.jsonValue(), fc.nat(), fc.nat(3), fc.constantFrom(...'0123456789eE+-.,:"\\{}[]u nlabc \u00e9\ud800'))
      .map(([value, at, dropped, put]) => {
        const text = JSON.stringify(value)
        const place = at % (text.length + 1)
        return text.slice(0, place) + put + text.slice(place + dropped)
      })
    fc.assert(
      fc.property(changed, text => {
        const value = parseCanonical(text)
        if (value !== undefined) expect(strictly(text)).toEqual(value)
      }),
      { numRuns: 2000 },
    )
  })
})
