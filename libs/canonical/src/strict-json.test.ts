import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { jsonArbitrary, textArbitrary } from "../test/arbitrary.ts"
import { canonicalize, MAX_DEPTH, parseStrictJson, StrictJsonError, utf8Encode } from "./index.ts"

function refusal(input: string | Uint8Array, limits?: { maxBytes?: number; maxDepth?: number }): StrictJsonError {
  try {
    parseStrictJson(input, limits)
  } catch (error) {
    if (error instanceof StrictJsonError) return error
    throw error
  }
  throw new Error("The text was accepted.")
}

const bytes = (...parts: readonly (string | number)[]): Uint8Array =>
  Uint8Array.from(parts.flatMap(part => (typeof part === "number" ? [part] : [...utf8Encode(part)])))

describe("values", () => {
  const samples: readonly (readonly [text: string, value: unknown])[] = [
    [" \t\r\n null ", null],
    ["true", true],
    ["false", false],
    ['""', ""],
    ["[]", []],
    ["{}", {}],
    ['[1, [2,{"a" : [ ] , "b":{}}]]', [1, [2, { a: [], b: {} }]]],
    ['"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00e9\\u20AC"', '"\\/\b\f\n\r\t\0é€'],
    ['"\\ud83d\\uDE00 😀"', "😀 😀"],
    ['"\u007f\u2028\u2029\ufeff\uffff"', "\u007f\u2028\u2029\ufeff\uffff"],
    ['{"":1,"toString":2,"constructor":3}', { "": 1, toString: 2, constructor: 3 }],
  ]
  test.each(samples)("%j", (text, value) => {
    expect(parseStrictJson(text)).toEqual(value)
    expect(parseStrictJson(utf8Encode(text))).toEqual(value)
  })
  test("__proto__ is an own, ordinary member and no prototype", () => {
    const value = parseStrictJson('{"__proto__":{"admin":true}}')
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.keys(value ?? {})).toEqual(["__proto__"])
    expect(value).not.toHaveProperty("admin")
  })
})

describe("numbers: only what RFC 8785 gives back with the same decimal value", () => {
  const accepted: readonly (readonly [token: string, value: number])[] = [
    ["0", 0],
    ["0.0", 0],
    ["0e5", 0],
    ["0E-999999999999999999999", 0],
    ["1.0", 1],
    ["1e2", 100],
    ["-1E+2", -100],
    ["0.10", 0.1],
    ["100e-2", 1],
    ["1e0000000000000000000000000000001", 10],
    ["0.000000000000000000000000001", 1e-27],
    ["9007199254740991", 9007199254740991],
    ["-9007199254740991.000", -9007199254740991],
    ["900719925474099.1e1", 9007199254740991],
    ["333333333.3333333", 333333333.3333333],
    ["5e-324", 5e-324],
    ["4503599627370495.5", 4503599627370495.5],
    [`0.${"0".repeat(1000)}1e1001`, 1],
    [`1${"0".repeat(1000)}e-1000`, 1],
  ]
  test.each(accepted)("%s is accepted", (token, value) => {
    expect(parseStrictJson(token)).toBe(value)
  })

  const refused: readonly (readonly [token: string, code: string])[] = [
    ["-0", "negative_zero"],
    ["-0.0", "negative_zero"],
    ["-0e10", "negative_zero"],
    ["-0.000E-999", "negative_zero"],
    ["9007199254740992", "unsafe_integer"],
    ["9007199254740993", "unsafe_integer"],
    ["-9007199254740992.0", "unsafe_integer"],
    ["1e16", "unsafe_integer"],
    ["1e21", "unsafe_integer"],
    ["1.5e300", "unsafe_integer"],
    ["9007199254740991.5", "inexact_number"],
    ["0.1000000000000000055", "inexact_number"],
    ["1.0000000000000001", "inexact_number"],
    ["333333333.33333329", "inexact_number"],
    ["4.9406564584124654e-324", "inexact_number"],
    ["1e400", "inexact_number"],
    ["-1e400", "inexact_number"],
    ["1e-400", "inexact_number"],
    ["-1e-400", "inexact_number"],
    ["1e999999999", "inexact_number"],
    ["1e-999999999", "inexact_number"],
    [`1e${"9".repeat(400)}`, "inexact_number"],
    ["9".repeat(400), "inexact_number"],
  ]
  test.each(refused)("%s is refused as %s", (token, code) => {
    expect(refusal(`[0, ${token}]`)).toMatchObject({ code, offset: 4, line: 1, column: 5 })
  })

  test("every number token is judged as exact integer arithmetic judges it", () => {
    const digits = (min: number, max: number): fc.Arbitrary<string> =>
      fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: min, maxLength: max })
    const token = fc
      .tuple(
        fc.constantFrom("", "-"),
        fc.bigInt({ min: 0n, max: 10n ** 22n }),
        digits(0, 20),
        fc.integer({ min: -330, max: 330 }),
      )
      .map(
        ([sign, integer, fraction, exponent]) =>
          `${sign}${integer}${fraction && `.${fraction}`}${exponent ? `e${exponent}` : ""}`,
      )
    fc.assert(
      fc.property(
        fc.oneof(
          token,
          fc
            .double({ noNaN: true })
            .map(String)
            .filter(text => !text.includes("I")),
        ),
        text => {
          const value = Number(text)
          const exact = Number.isFinite(value) && scaled(text) === scaled(`${value}`)
          const safe = Number.isSafeInteger(value) || !Number.isInteger(value)
          const negativeZero = text.startsWith("-") && scaled(text) === 0n
          if (exact && safe && !negativeZero) expect(parseStrictJson(text)).toBe(value)
          else expect(["unsafe_integer", "inexact_number", "negative_zero"]).toContain(refusal(text).code)
        },
      ),
      { numRuns: 5000 },
    )
  })
})

/** The decimal value of a token times 10^1000, exactly. */
function scaled(token: string): bigint {
  const [mantissa = "", exponent = "0"] = token.toLowerCase().split("e")
  const [integer = "", fraction = ""] = mantissa.split(".")
  return BigInt(integer + fraction) * 10n ** BigInt(1000 + Number(exponent) - fraction.length)
}

describe("each refusal names its place", () => {
  const samples: readonly (readonly [code: string, text: string, offset: number, line: number, column: number])[] = [
    ["syntax", "", 0, 1, 1],
    ["syntax", "  ", 2, 1, 3],
    ["syntax", "[1,]", 3, 1, 4],
    ["syntax", "[1 2]", 3, 1, 4],
    ["syntax", "[,1]", 1, 1, 2],
    ["syntax", '{"a":1,}', 7, 1, 8],
    ["syntax", '{"a" 1}', 5, 1, 6],
    ["syntax", "{a:1}", 1, 1, 2],
    ["syntax", '{\n  "a": 1,\n  b', 14, 3, 3],
    ["syntax", "trux", 3, 1, 4],
    ["syntax", "nul", 3, 1, 4],
    ["syntax", "NaN", 0, 1, 1],
    ["syntax", "Infinity", 0, 1, 1],
    ["syntax", "+1", 0, 1, 1],
    ["syntax", ".5", 0, 1, 1],
    ["syntax", "-", 1, 1, 2],
    ["syntax", "1.", 2, 1, 3],
    ["syntax", "1.e5", 2, 1, 3],
    ["syntax", "1e", 2, 1, 3],
    ["syntax", "1e+", 3, 1, 4],
    ["syntax", '"abc', 4, 1, 5],
    ["syntax", '"a\nb"', 2, 1, 3],
    ["syntax", '"a\u0000b"', 2, 1, 3],
    ["syntax", '"\\x"', 1, 1, 2],
    ["syntax", '"\\', 1, 1, 2],
    ["syntax", '"\\u12G4"', 1, 1, 2],
    ["syntax", '"\\u123', 1, 1, 2],
    ["syntax", "'a'", 0, 1, 1],
    ["syntax", "\u00a01", 0, 1, 1],
    ["trailing_data", "01", 1, 1, 2],
    ["trailing_data", "{} \n{}", 4, 2, 1],
    ["trailing_data", "1\u0000", 1, 1, 2],
    ["duplicate_key", '{"a":1,\n "\\u0061":2}', 9, 2, 2],
    ["duplicate_key", '{"x":{"":1,"":1}}', 11, 1, 12],
    ["duplicate_key", '{"__proto__":1,"__proto__":1}', 15, 1, 16],
    ["duplicate_key", '{"toString":1,"toString":1}', 14, 1, 15],
    ["duplicate_key", '{"7":null,"7":null}', 10, 1, 11],
    ["duplicate_key", '{"😀":1,"\\ud83d\\ude00":2}', 8, 1, 9],
    ["lone_surrogate", '["\ud800"]', 2, 1, 3],
    ["lone_surrogate", '["\udc00\ud800"]', 2, 1, 3],
    ["lone_surrogate", '["a\\ud800"]', 3, 1, 4],
    ["lone_surrogate", '["a\\udc00"]', 3, 1, 4],
    ["lone_surrogate", '["\\ud800\\ud800\\udc00"]', 2, 1, 3],
    ["lone_surrogate", '["\\udc00\\udc00"]', 2, 1, 3],
    ["lone_surrogate", '["\\ud800\udc00"]', 2, 1, 3],
    ["lone_surrogate", '["\ud800\\udc00"]', 2, 1, 3],
    ["lone_surrogate", '{"\\uDFFF":1}', 2, 1, 3],
    ["too_deep", "[".repeat(MAX_DEPTH + 1), MAX_DEPTH, 1, MAX_DEPTH + 1],
    ["too_deep", '{"a":'.repeat(MAX_DEPTH + 1), 5 * MAX_DEPTH, 1, 5 * MAX_DEPTH + 1],
    ["byte_order_mark", "\ufeff{}", 0, 1, 1],
  ]
  test.each(samples)("%s: %j", (code, text, offset, line, column) => {
    expect(refusal(text)).toMatchObject({ name: "StrictJsonError", code, offset, line, column })
  })

  test("offsets into bytes count bytes, columns count UTF-16 units", () => {
    expect(refusal(utf8Encode('{"é":1,"é":2}'))).toMatchObject({ code: "duplicate_key", offset: 8, line: 1, column: 8 })
    expect(refusal(utf8Encode('["😀",\n"€" x]'))).toMatchObject({ code: "syntax", offset: 15, line: 2, column: 5 })
  })

  const invalid: readonly (readonly [what: string, input: Uint8Array, offset: number, line: number, column: number])[] =
    [
      ["a stray continuation byte", bytes('["', 0x80, '"]'), 2, 1, 3],
      ["an overlong form", bytes('["é\n', 0xc0, 0x80), 5, 2, 1],
      ["an encoded surrogate", bytes('"😀', 0xed, 0xa0, 0x80, '"'), 5, 1, 4],
      ["a cut sequence", bytes('"a', 0xe2, 0x82), 2, 1, 3],
      ["a bad byte behind a written U+FFFD", bytes('"\ufffd\ufffd', 0xff, '"'), 7, 1, 4],
      ["a code point beyond U+10FFFF", bytes('"', 0xf4, 0x90, 0x80, 0x80, '"'), 1, 1, 2],
      ["UTF-16", bytes(0xff, 0xfe, 0x7b, 0x00), 0, 1, 1],
    ]
  test.each(invalid)("invalid_utf8: %s", (_what, input, offset, line, column) => {
    expect(refusal(input)).toMatchObject({ code: "invalid_utf8", offset, line, column })
  })

  test("a UTF-8 byte order mark is refused as such, U+FFFD is a character like any other", () => {
    expect(refusal(bytes(0xef, 0xbb, 0xbf, "{}"))).toMatchObject({ code: "byte_order_mark", offset: 0 })
    expect(parseStrictJson(bytes('"\ufffd"'))).toBe("\ufffd")
  })
  test("the message quotes nothing of the text", () => {
    expect(refusal('{"hunter2":1,"hunter2":2}').message).toBe("An object has the same key twice (line 1, column 14).")
  })
})

describe("bounds", () => {
  test("maxBytes counts UTF-8 bytes, of bytes and of strings", () => {
    expect(parseStrictJson('"€"', { maxBytes: 5 })).toBe("€")
    expect(parseStrictJson(utf8Encode('"€"'), { maxBytes: 5 })).toBe("€")
    expect(refusal('"€"', { maxBytes: 4 })).toMatchObject({ code: "too_large", offset: 0 })
    expect(refusal(utf8Encode('"€"'), { maxBytes: 4 }).code).toBe("too_large")
    expect(refusal(bytes(0xff, 0xff), { maxBytes: 1 }).code).toBe("too_large")
  })
  test("maxDepth can be narrowed, never widened", () => {
    expect(parseStrictJson("[[1],[2]]", { maxDepth: 2 })).toEqual([[1], [2]])
    expect(refusal("[[[]]]", { maxDepth: 2 })).toMatchObject({ code: "too_deep", offset: 2 })
    expect(parseStrictJson("1", { maxDepth: 0 })).toBe(1)
    expect(refusal("[".repeat(100_000), { maxDepth: 1_000_000 })).toMatchObject({ code: "too_deep", offset: MAX_DEPTH })
  })
  test("64 levels are accepted", () => {
    const text = "[".repeat(MAX_DEPTH) + "]".repeat(MAX_DEPTH)
    expect(canonicalize(parseStrictJson(text))).toBe(text)
  })

  const megabyte = 1_000_000
  const hostile: readonly (readonly [what: string, text: string, code: string])[] = [
    ["20,000 levels of arrays", "[".repeat(20_000), "too_deep"],
    ["20,000 levels of objects", '{"a":'.repeat(20_000), "too_deep"],
    ["1 MB of digits", "7".repeat(megabyte), "inexact_number"],
    ["1 MB of fraction digits", `0.${"7".repeat(megabyte)}`, "inexact_number"],
    ["1 MB of zeros before a digit", `0.${"0".repeat(megabyte)}1`, "inexact_number"],
    ["1 MB of zeros inside a number", `1${"0".repeat(megabyte)}.5`, "inexact_number"],
    ["1 MB of exponent digits", `1e${"9".repeat(megabyte)}`, "inexact_number"],
    ["1 MB of nines after 1 MB of exponent zeros", `1e${"0".repeat(megabyte)}999`, "inexact_number"],
    ["1 MB of spaces", " ".repeat(megabyte), "syntax"],
    ["1 MB of line ends", `${"\n".repeat(megabyte)}x`, "syntax"],
    ["an unclosed string of 1 MB of escapes", `"${"\\n".repeat(megabyte / 2)}`, "syntax"],
    [
      "100,000 keys, the last one twice",
      `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join(",")},"k99999":0}`,
      "duplicate_key",
    ],
    [
      "100,000 index keys, the first one twice",
      `{${Array.from({ length: 100_000 }, (_, i) => `"${i * 7}":0`).join(",")},"0":0}`,
      "duplicate_key",
    ],
  ]
  test.each(hostile)("%s: refused within a second", (_what, text, code) => {
    const start = performance.now()
    expect(refusal(text).code).toBe(code)
    expect(performance.now() - start).toBeLessThan(15_000)
  })
  test("1 MB of escapes is read within a second", () => {
    const start = performance.now()
    expect(parseStrictJson(`"${"\\u00e9".repeat(megabyte / 6)}"`)).toBe("é".repeat(megabyte / 6))
    expect(performance.now() - start).toBeLessThan(15_000)
  })
})

describe("properties", () => {
  test("parsing undoes canonicalizing", () => {
    fc.assert(
      fc.property(jsonArbitrary, value => isDeepStrictEqual(parseStrictJson(canonicalize(value)), value)),
      { numRuns: 2000 },
    )
  })
  test("canonicalizing what was parsed from canonical text gives that text", () => {
    fc.assert(
      fc.property(jsonArbitrary, value => {
        const text = canonicalize(value)
        expect(canonicalize(parseStrictJson(text))).toBe(text)
        expect(canonicalize(parseStrictJson(utf8Encode(JSON.stringify(value, null, 2))))).toBe(text)
      }),
      { numRuns: 1000 },
    )
  })
  test("text: whatever we accept JSON.parse accepts with the same value, whatever we refuse is a StrictJsonError", () => {
    const fragment = fc.constantFrom(
      ...'[]{},:"\\ \t\n01-.eE+u',
      "null",
      "true",
      '"a"',
      '"a":',
      '"\\u0061":',
      "\\ud800",
      "\\udc00",
      "1.50",
      "\ud83d",
      "\ude00",
      "\ufeff",
    )
    const edits = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 2 }), fragment), { maxLength: 3 })
    const edited = fc.tuple(jsonArbitrary, edits).map(([value, list]) =>
      list.reduce((text, [at, cut, insert]) => {
        const place = at % (text.length + 1)
        return text.slice(0, place) + insert + text.slice(place + cut)
      }, JSON.stringify(value)),
    )
    const soup = fc.array(fragment, { maxLength: 12 }).map(parts => parts.join(""))
    fc.assert(
      fc.property(fc.oneof(edited, soup, textArbitrary), text => {
        const strict = attempt(text)
        if (strict instanceof StrictJsonError) {
          expect(strict.offset).toBeLessThanOrEqual(text.length)
          if (strict.code === "syntax" || strict.code === "trailing_data")
            expect(() => JSON.parse(text)).toThrow(SyntaxError)
        } else expect(isDeepStrictEqual(strict, JSON.parse(text))).toBe(true)
      }),
      { numRuns: 5000 },
    )
  })
  test("no proper prefix of an object's text is accepted", () => {
    fc.assert(
      fc.property(jsonArbitrary, fc.nat(), (value, cut) => {
        const text = canonicalize({ value })
        const prefix = text.slice(0, cut % text.length)
        expect(refusal(prefix).offset).toBeLessThanOrEqual(prefix.length)
      }),
    )
  })
})

function attempt(text: string): unknown {
  try {
    return parseStrictJson(text)
  } catch (error) {
    if (error instanceof StrictJsonError) return error
    throw error
  }
}
