import { describe, expect, test } from "vitest"
import { canonicalize } from "./canonicalize.ts"
import type { JsonValue } from "./json-value.ts"
import { strictValue } from "./strict-value.ts"

describe("strictValue", () => {
  test("leaves I-JSON as it is", () => {
    const value = { a: [1, 0.5, -7, true, null, "\u0000é😀"], __proto__: { b: {} } }
    expect(strictValue(value, 60)).toEqual(value)
    const own = JSON.parse('{"__proto__": {"a": 1}}')
    expect(canonicalize(strictValue(own, 60))).toBe('{"__proto__":{"a":1}}')
  })

  test("writes what I-JSON cannot say as texts", () => {
    const odd = JSON.parse('{"large": 1152921504606846976, "huge": 1e400, "zero": -0, "half\\ud800": "\\udc00"}')
    expect(strictValue(odd, 60)).toEqual({
      large: "1152921504606847000",
      huge: "Infinity",
      zero: 0,
      "half\ufffd": "\ufffd",
    })
    expect(Object.is(strictValue(-0, 60), 0)).toBe(true)
  })

  test("gives pairs where names become the same", () => {
    expect(strictValue({ "\ud800": 1, "\udc00": 2 }, 60)).toEqual([
      ["\ufffd", 1],
      ["\ufffd", 2],
    ])
  })

  test("writes what is nested too deep as one text, in its order", () => {
    expect(strictValue([{ a: [1, { b: "c" }], d: null }], 1)).toEqual(["a 1 b c d null"])
    expect(strictValue([[["\ud800"]]], 2)).toEqual([["\ufffd"]])
  })

  test("takes any depth", () => {
    let deep: JsonValue = "x"
    for (let level = 0; level < 1_000_000; level += 1) deep = [deep]
    expect(canonicalize(strictValue(deep, 60))).toBe(`${"[".repeat(60)}"x"${"]".repeat(60)}`)
  })
})
