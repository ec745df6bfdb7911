import { existsSync, readdirSync, readFileSync } from "node:fs"
import reference from "canonicalize"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { jsonArbitrary } from "../test/arbitrary.ts"
import { CanonicalizeError, canonicalize, isJsonValue, type JsonValue, MAX_DEPTH, parseStrictJson } from "./index.ts"

/** Passes a value that the type system would refuse, as untyped callers can. */
const anything = (value: unknown): JsonValue => value as JsonValue

function refusal(value: unknown): CanonicalizeError {
  try {
    canonicalize(anything(value))
  } catch (error) {
    if (error instanceof CanonicalizeError) return error
    throw error
  }
  throw new Error("The value was accepted.")
}

function nested(levels: number): JsonValue {
  let value: JsonValue = []
  for (let level = 1; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

describe("RFC 8785 appendix B: numbers", () => {
  const written: readonly (readonly [bits: string, text: string])[] = [
    ["0000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ]
  test.each(written)("%s is written %s", (bits, text) => {
    expect(canonicalize(doubleOf(bits))).toBe(text)
  })

  const refused: readonly (readonly [bits: string, number: string])[] = [
    ["8000000000000000", "−0"],
    ["7fefffffffffffff", "the largest double"],
    ["ffefffffffffffff", "the smallest double"],
    ["4340000000000000", "2^53"],
    ["c340000000000000", "−2^53"],
    ["4430000000000000", "~2^68"],
    ["7fffffffffffffff", "NaN"],
    ["7ff0000000000000", "infinity"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
  ]
  test.each(refused)("%s (%s) is refused: no exact I-JSON form", bits => {
    expect(refusal([doubleOf(bits)]).path).toBe("/0")
  })
})

function doubleOf(bits: string): number {
  return Buffer.from(bits, "hex").readDoubleBE()
}

describe("RFC 8785 §3.2: strings and order", () => {
  test("members are sorted by UTF-16 code units, not by code points (RFC 8785 §3.2.3)", () => {
    const value = {
      "€": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "😀": "Emoji: Grinning Face",
      "\u0080": "Control",
      ö: "Latin Small Letter O With Diaeresis",
    }
    expect(Object.values(parseStrictJson(canonicalize(value)) ?? {}).slice(1)).toEqual([
      "Carriage Return",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ])
    expect(canonicalize(value).startsWith('{"\\r":"Carriage Return","1":"One","\u0080":')).toBe(true)
  })
  test("only quote, backslash and controls are escaped, in the shortest spelling (RFC 8785 §3.2.2.2)", () => {
    expect(canonicalize('"\\/\b\f\n\r\t\u0000\u001f\u007f\u2028é😀')).toBe(
      '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u007f\u2028é😀"',
    )
  })
  test("keys that look like array indices are sorted as text", () => {
    expect(canonicalize({ b: { "10": 1, "9": [{ "2": 0, "1": 0 }] }, "100": 1, "11": 2, "": 3 })).toBe(
      '{"":3,"100":1,"11":2,"b":{"10":1,"9":[{"1":0,"2":0}]}}',
    )
  })
  test("__proto__ is an ordinary key", () => {
    const value = parseStrictJson('{"z":1,"__proto__":{"b":1,"a":2}}')
    expect(canonicalize(value)).toBe('{"__proto__":{"a":2,"b":1},"z":1}')
  })
  test("objects of many keys are sorted", () => {
    const keys = Array.from({ length: 100 }, (_, index) => `k${(index * 37) % 100}`)
    expect(canonicalize(Object.fromEntries(keys.map(key => [key, 0])))).toBe(
      `{${[...keys]
        .sort()
        .map(key => `"${key}":0`)
        .join(",")}}`,
    )
  })
  test("a value that writes another while it is written is written as it stands", () => {
    const value = {
      a: 1,
      get b() {
        return canonicalize({ inner: [1, 2] })
      },
    }
    expect(canonicalize(value)).toBe('{"a":1,"b":"{\\"inner\\":[1,2]}"}')
  })
  test("a text of any length and alphabet is written whole", () => {
    const long = [
      "é".repeat(40_000),
      "x".repeat(200_000),
      "\n".repeat(130_000),
      "😀".repeat(80_000),
      `x${"😀".repeat(80_000)}`,
    ]
    expect(canonicalize(long)).toBe(JSON.stringify(long))
    expect(canonicalize({ a: 1 })).toBe('{"a":1}')
  })
  test("the value is left as it was", () => {
    const value = Object.freeze({ b: Object.freeze([2, 1]), a: 1 })
    expect(canonicalize(value)).toBe('{"a":1,"b":[2,1]}')
    expect(Object.keys(value)).toEqual(["b", "a"])
  })
})

describe("what cannot be sealed exactly is refused, with its place (docs/formats.md section 1)", () => {
  const cycle: Record<string, unknown> = {}
  cycle.self = [cycle]
  class Point {
    x = 1
  }
  const samples: readonly (readonly [what: string, value: unknown, path: string])[] = [
    ["undefined", undefined, ""],
    ["an undefined member", { a: { b: undefined } }, "/a/b"],
    ["a hole in an array", new Array(1), "/0"],
    ["a function", [() => 0], "/0"],
    ["a toJSON method", { a: { toJSON: () => 1 } }, "/a/toJSON"],
    ["a symbol", [Symbol("s")], "/0"],
    ["a symbol key", { a: { [Symbol("s")]: 1 } }, "/a"],
    ["a bigint", { n: 1n }, "/n"],
    ["NaN", [0, Number.NaN], "/1"],
    ["an infinity", [Number.NEGATIVE_INFINITY], "/0"],
    ["negative zero", { a: -0 }, "/a"],
    ["2^53", [Number.MAX_SAFE_INTEGER + 1], "/0"],
    ["−2^53", [Number.MIN_SAFE_INTEGER - 1], "/0"],
    ["a lone surrogate in a string", ["a\ud800"], "/0"],
    ["a lone surrogate in a key", { "\udc00": 1 }, "/\udc00"],
    ["a Date", { at: new Date(0) }, "/at"],
    ["a Map", [new Map()], "/0"],
    ["a class instance", [new Point()], "/0"],
    ["a typed array", [new Uint8Array(1)], "/0"],
    ["a boxed number", [Object(1)], "/0"],
    ["an array of another class", [new (class extends Array {})()], "/0"],
    ["a cycle", cycle, "/self/0".repeat(MAX_DEPTH / 2)],
  ]
  test.each(samples)("%s", (_what, value, path) => {
    expect(refusal(value).path).toBe(path)
    expect(isJsonValue(value)).toBe(false)
  })
  test("the path is an RFC 6901 pointer", () => {
    expect(refusal({ "a/b": { "m~n": [0, undefined] } }).path).toBe("/a~1b/m~0n/1")
  })
  test("the message quotes neither key nor value", () => {
    expect(refusal({ secret: "hunter2\ud800" }).message).not.toMatch(/secret|hunter2/)
  })
  test(`${MAX_DEPTH} levels are accepted, one more is refused`, () => {
    expect(canonicalize(nested(MAX_DEPTH))).toHaveLength(4 * MAX_DEPTH)
    expect(isJsonValue(nested(MAX_DEPTH))).toBe(true)
    expect(refusal(nested(MAX_DEPTH + 1)).message).toContain(`${MAX_DEPTH}`)
  })
  test("20,000 levels are refused without exhausting the stack", () => {
    expect(refusal(nested(20_000)).path.split("/")).toHaveLength(MAX_DEPTH + 1)
  })
  test("an error thrown by a getter is passed on, not taken for a refusal", () => {
    const value = {
      get a(): number {
        throw new TypeError("getter")
      },
    }
    expect(() => canonicalize(value)).toThrow(TypeError)
    expect(() => isJsonValue(value)).toThrow(TypeError)
  })
})

describe("properties", () => {
  test("canonicalize equals the reference implementation on every accepted value", () => {
    fc.assert(
      fc.property(jsonArbitrary, value => canonicalize(value) === reference(value)),
      { numRuns: 2000 },
    )
  })
  test("isJsonValue accepts exactly what canonicalize accepts", () => {
    const wild = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSparseArray: true,
      withTypedArray: true,
    })
    fc.assert(
      fc.property(fc.oneof(wild, jsonArbitrary), value => {
        const accepted = isJsonValue(value)
        if (accepted) expect(canonicalize(value)).toBe(reference(value))
        else expect(refusal(value)).toBeInstanceOf(CanonicalizeError)
      }),
      { numRuns: 2000 },
    )
  })
})

const vectors = new URL("../../../../shared/vectors/json-canonicalization/", import.meta.url)
const present = existsSync(vectors)

describe.skipIf(!present)(`public JCS vectors${present ? "" : " (not present)"}`, () => {
  /** Holds 333333333.33333329, whose JCS form is another decimal, and 1E30, an integer beyond 2^53−1: we refuse both. */
  const refused = new Set(["values.json"])
  const names = present ? readdirSync(new URL("input/", vectors)) : []
  test.each(names.filter(name => !refused.has(name)))("%s", name => {
    const input = readFileSync(new URL(`input/${name}`, vectors))
    const hex = readFileSync(new URL(`outhex/${name.replace(".json", ".txt")}`, vectors), "utf8")
    expect(Buffer.from(canonicalize(parseStrictJson(input))).toString("hex")).toBe(hex.replaceAll(/\s/g, ""))
  })
  test("values.json is refused for two numbers and comes out as published without them", () => {
    const input = readFileSync(new URL("input/values.json", vectors), "utf8")
    expect(() => parseStrictJson(input)).toThrow(/precision/)
    expect(() => parseStrictJson(input.replace("333333333.33333329", "0"))).toThrow(/integer/)
    const output = readFileSync(new URL("output/values.json", vectors), "utf8")
    const exact = input.replace("333333333.33333329", "333333333.3333333").replace("1E30, ", "")
    expect(canonicalize(parseStrictJson(exact))).toBe(output.replace("1e+30,", ""))
  })
})
