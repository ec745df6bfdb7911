import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { canonicalize, isJsonValue, parseCanonical, parseStrictJson } from "./index.ts"

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
      }),
    )
  })

  test("keeps a key that every object inherits", () => {
    const text = '{"__proto__":1,"constructor":{"a":[]},"toString":null}'
    expect(Object.getOwnPropertyNames(parseCanonical(text))).toEqual(["__proto__", "constructor", "toString"])
  })
})

describe("a text that is not", () => {
  const others: readonly (readonly [what: string, text: string])[] = [
    ["a duplicate key", '{"a":1,"a":1}'],
    ["a duplicate key, once escaped", '{"a":1,"\\u0061":1}'],
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
    ["nothing", ""],
    ["more than is tried", `"${"a".repeat(262_144)}"`],
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
