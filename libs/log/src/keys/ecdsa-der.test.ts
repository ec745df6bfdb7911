import { generateKeyPairSync, sign } from "node:crypto"
import { decodeHex } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { formatEcdsaSignature, isLowS, isStrictDerSignature, parseEcdsaSignature, toLowS } from "./ecdsa-der.ts"

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const der = (hex: string): Uint8Array => decodeHex(hex.replaceAll(" ", ""))!
const scalar = fc.oneof(
  fc.bigInt({ min: 1n, max: ORDER - 1n }),
  fc.constantFrom(1n, 127n, 128n, 255n, 256n, ORDER / 2n, ORDER / 2n + 1n, ORDER - 1n),
)

describe("an ECDSA signature in DER", () => {
  test("has one spelling, which reads back", () => {
    fc.assert(
      fc.property(scalar, scalar, (r, s) => {
        expect(parseEcdsaSignature(formatEcdsaSignature({ r, s }))).toEqual({ r, s })
      }),
    )
  })

  test("is what node:crypto writes", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    for (let round = 0; round < 50; round++) {
      expect(isStrictDerSignature(sign("sha256", Buffer.of(round), privateKey))).toBe(true)
    }
  })

  test("is accepted in its shortest form", () => {
    expect(parseEcdsaSignature(der("3006 020101 020102"))).toEqual({ r: 1n, s: 2n })
  })

  test.each([
    ["no bytes", ""],
    ["another tag than SEQUENCE", "3106 020101 020101"],
    ["a wrong total length", "3007 020101 020101"],
    ["a long-form length", "308106 020101 020101"],
    ["trailing bytes after the sequence", "3006 020101 020101 00"],
    ["trailing bytes inside the sequence", "3007 020101 020101 00"],
    ["a third integer", "3009 020101 020101 020101"],
    ["one integer only", "3003 020101"],
    ["another tag than INTEGER", "3006 030101 020101"],
    ["another tag than INTEGER for s", "3006 020101 030101"],
    ["a padded r", "3007 02020001 020101"],
    ["a padded s", "3007 020101 02020001"],
    ["a negative r", "3006 0201ff 020101"],
    ["a negative s", "3006 020101 020180"],
    ["an empty r", "3005 0200 020101"],
    ["an empty s", "3005 020101 0200"],
    ["r of zero", "3006 020100 020101"],
    ["s of zero", "3006 020101 020100"],
    ["a length that points outside", "3006 0209 01 020101"],
    ["r of n", `3026 022100${ORDER.toString(16)} 020101`],
    ["s of n", `3026 020101 022100${ORDER.toString(16)}`],
  ])("is refused with %s", (_, hex) => {
    expect(parseEcdsaSignature(der(hex))).toBeUndefined()
    expect(isStrictDerSignature(der(hex))).toBe(false)
    expect(isLowS(der(hex))).toBe(false)
  })

  test("is never accepted with one byte more, less or changed unless it reads as another signature", () => {
    fc.assert(
      fc.property(scalar, scalar, fc.nat(), fc.nat(255), (r, s, at, byte) => {
        const good = formatEcdsaSignature({ r, s })
        const changed = good.with(at % good.length, byte)
        const parsed = parseEcdsaSignature(changed)
        if (parsed !== undefined) expect(formatEcdsaSignature(parsed)).toEqual(changed)
        expect(parseEcdsaSignature(good.subarray(0, -1))).toBeUndefined()
        expect(parseEcdsaSignature(Uint8Array.from([...good, byte]))).toBeUndefined()
      }),
    )
  })

  test("is never accepted from arbitrary bytes it would not write", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), bytes => {
        const parsed = parseEcdsaSignature(bytes)
        if (parsed !== undefined) expect(formatEcdsaSignature(parsed)).toEqual(bytes)
      }),
    )
  })
})

describe("low-S", () => {
  test("means s is at most half the group order", () => {
    expect(isLowS(formatEcdsaSignature({ r: 1n, s: ORDER / 2n }))).toBe(true)
    expect(isLowS(formatEcdsaSignature({ r: 1n, s: ORDER / 2n + 1n }))).toBe(false)
  })

  test("is reached by taking n − s, and left alone when it holds", () => {
    fc.assert(
      fc.property(scalar, scalar, (r, s) => {
        const low = toLowS(formatEcdsaSignature({ r, s }))
        expect(isLowS(low)).toBe(true)
        expect([s, ORDER - s]).toContain(parseEcdsaSignature(low)!.s)
        expect(toLowS(low)).toEqual(low)
      }),
    )
  })

  test("of bytes that are no signature is an error of the signer", () => {
    expect(() => toLowS(Uint8Array.of(1))).toThrow("The signer returned bytes that are not a DER P-256 signature.")
  })
})
