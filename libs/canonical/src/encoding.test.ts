import fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as node from "./base64.node.ts"
import * as portable from "./base64.portable.ts"
import {
  BASE64_PATTERN,
  decodeBase64,
  decodeBase64Url,
  decodeDecimal,
  decodeHex,
  encodeBase64,
  encodeBase64Url,
  encodeHex,
  isSha256Hex,
} from "./index.ts"

const bytesArbitrary = fc.uint8Array({ maxLength: 100 })

describe("hex", () => {
  test("is lowercase, two digits a byte", () => {
    expect(encodeHex(Uint8Array.of(0, 1, 0xab, 0xff))).toBe("0001abff")
    expect(decodeHex("0001abff")).toEqual(Uint8Array.of(0, 1, 0xab, 0xff))
    expect(decodeHex("")).toEqual(new Uint8Array(0))
  })
  test.each(["0", "AB", "aB", "0x", "zz", " 00", "00\n", "é0", "0g", "/0", ":0", "`0"])("%j has no bytes", text => {
    expect(decodeHex(text)).toBeUndefined()
  })
  test("agrees with Node's hex, there and back", () => {
    fc.assert(
      fc.property(bytesArbitrary, bytes => {
        expect(encodeHex(bytes)).toBe(Buffer.from(bytes).toString("hex"))
        expect(decodeHex(encodeHex(bytes))).toEqual(bytes)
      }),
    )
  })
})

describe("base64url (RFC 4648 §5)", () => {
  test("has no padding and agrees with Node's, there and back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), bytes => {
        const text = encodeBase64Url(bytes)
        expect(text).toBe(Buffer.from(bytes).toString("base64url"))
        expect(decodeBase64Url(text)).toEqual(bytes)
      }),
    )
  })
  test.each(["AA==", "AB", "-+", "a b", "a"])("no other spelling is read: %j", text => {
    expect(decodeBase64Url(text)).toBeUndefined()
  })
})

describe("base64 (RFC 4648 §4)", () => {
  const vectors: readonly (readonly [plain: string, text: string])[] = [
    ["", ""],
    ["f", "Zg=="],
    ["fo", "Zm8="],
    ["foo", "Zm9v"],
    ["foob", "Zm9vYg=="],
    ["fooba", "Zm9vYmE="],
    ["foobar", "Zm9vYmFy"],
  ]
  test.each(vectors)("RFC 4648 §10: %j is %j", (plain, text) => {
    const bytes = Uint8Array.from(Buffer.from(plain))
    expect(encodeBase64(bytes)).toBe(text)
    expect(decodeBase64(text)).toEqual(bytes)
  })
  const refused: readonly (readonly [why: string, text: string])[] = [
    ["padding left out", "Zg"],
    ["padding cut", "Zg="],
    ["padding in excess", "Zm9v===="],
    ["padding alone", "===="],
    ["padding inside", "Zg==Zg=="],
    ["pad bits not zero", "Zh=="],
    ["pad bits not zero", "Zm9="],
    ["the URL alphabet", "__-_"],
    ["white space", "Zm9v\n"],
    ["white space inside", "Zm 9v"],
    ["a length of 1", "Z"],
    ["another character", "Zm9é"],
  ]
  test.each(refused)("%s is refused: %j", (_why, text) => {
    expect(decodeBase64(text)).toBeUndefined()
  })
  test("agrees with Node's base64, there and back", () => {
    fc.assert(
      fc.property(bytesArbitrary, bytes => {
        expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"))
        expect(decodeBase64(encodeBase64(bytes))).toEqual(bytes)
      }),
    )
  })
  test("no two texts decode to the same bytes", () => {
    const text = fc.string({ unit: fc.constantFrom(..."AZaz09+/=\n"), maxLength: 8 })
    fc.assert(
      fc.property(text, candidate => {
        const bytes = decodeBase64(candidate)
        expect(bytes === undefined || encodeBase64(bytes) === candidate).toBe(true)
        expect(BASE64_PATTERN.test(candidate)).toBe(bytes !== undefined)
      }),
      { numRuns: 2000 },
    )
  })
})

describe("int64 decimals", () => {
  test.each([0n, 1n, 10n, 2n ** 53n, 2n ** 63n - 1n])("%s has one spelling", value => {
    expect(decodeDecimal(`${value}`)).toBe(value)
  })
  test.each([
    "",
    "-1",
    "+1",
    "00",
    "01",
    "1.0",
    "1e3",
    " 1",
    "1\n",
    "0x1",
    "٣",
    "9223372036854775808",
    "9".repeat(1000),
  ])("%j is refused", text => {
    expect(decodeDecimal(text)).toBeUndefined()
  })
})

test("a SHA-256 in hex is 64 lowercase digits and a string", () => {
  expect(isSha256Hex("0123456789abcdef".repeat(4))).toBe(true)
  for (const other of [
    "",
    "A".repeat(64),
    "a".repeat(63),
    "a".repeat(65),
    `${"a".repeat(64)}\n`,
    ["a".repeat(64)],
    null,
    1,
  ]) {
    expect(isSha256Hex(other)).toBe(false)
  }
})

test("Node's and the browser's base64 agree on every text and all bytes", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.base64String({ maxLength: 40 }),
    fc.stringMatching(/^[A-Za-z0-9+/=_ \n-]{0,12}$/),
  )
  fc.assert(
    fc.property(anyText, text => {
      expect(node.decodeBase64(text)).toEqual(portable.decodeBase64(text))
    }),
    { numRuns: 1000 },
  )
  fc.assert(
    fc.property(bytesArbitrary, bytes => {
      expect(node.encodeBase64(bytes)).toBe(portable.encodeBase64(bytes))
      expect(node.decodeBase64(node.encodeBase64(bytes))).toEqual(bytes)
    }),
  )
})
