import { generateKeyPairSync, sign } from "node:crypto"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { formatEcdsaSignature, parseEcdsaSignature } from "./ecdsa-der.ts"
import * as noble from "./signatures.noble.ts"
import * as node from "./signatures.node.ts"

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const message = new TextEncoder().encode("run 1")

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" })
const spki = new Uint8Array(ec.publicKey.export({ type: "spki", format: "der" }))
const ecdsa = new Uint8Array(sign("sha256", message, ec.privateKey))
const { r, s } = parseEcdsaSignature(ecdsa)!

const ed = generateKeyPairSync("ed25519")
const raw = new Uint8Array(ed.publicKey.export({ type: "spki", format: "der" }).subarray(-32))
const eddsa = new Uint8Array(sign(null, message, ed.privateKey))
const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

/** The signature with S + L in place of S, which RFC 8032 §5.1.7 refuses. */
function unreduced(signature: Uint8Array): Uint8Array {
  let value = signature.subarray(32).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n) + GROUP_ORDER
  return signature.map((byte, at) => {
    if (at < 32) return byte
    const low = Number(value & 0xffn)
    value >>= 8n
    return low
  })
}

/** Both implementations, which must agree before either is believed. */
const verifyEcdsaP256 = (...input: Parameters<typeof node.verifyEcdsaP256>): boolean | "they differ" => {
  const answer = node.verifyEcdsaP256(...input)
  return noble.verifyEcdsaP256(...input) === answer ? answer : "they differ"
}
const verifyEd25519 = (...input: Parameters<typeof node.verifyEd25519>): boolean | "they differ" => {
  const answer = node.verifyEd25519(...input)
  return noble.verifyEd25519(...input) === answer ? answer : "they differ"
}
const bytes = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length })

describe("ECDSA P-256, in Node and in a browser", () => {
  test("accepts low-S and high-S alike", () => {
    expect(verifyEcdsaP256(spki, message, ecdsa)).toBe(true)
    expect(verifyEcdsaP256(spki, message, formatEcdsaSignature({ r, s: ORDER - s }))).toBe(true)
  })

  test.each<[string, Uint8Array, Uint8Array, Uint8Array]>([
    ["another message", spki, new TextEncoder().encode("run 2"), ecdsa],
    ["r + 1", spki, message, formatEcdsaSignature({ r: r + 1n, s })],
    ["s + 1", spki, message, formatEcdsaSignature({ r, s: s + 1n })],
    ["r and s of 1", spki, message, formatEcdsaSignature({ r: 1n, s: 1n })],
    ["no signature", spki, message, Uint8Array.of()],
    ["trailing bytes", spki, message, Uint8Array.from([...ecdsa, 0])],
    ["a compact signature", spki, message, ecdsa.subarray(0, 64)],
    ["no key", Uint8Array.of(), message, ecdsa],
    ["a point off the curve", spki.with(90, spki[90]! ^ 1), message, ecdsa],
    ["a point at infinity", spki.map((byte, at) => (at > 26 ? 0 : byte)), message, ecdsa],
    ["coordinates above the field", spki.map((byte, at) => (at > 26 ? 0xff : byte)), message, ecdsa],
    ["an Ed25519 key", new Uint8Array(ed.publicKey.export({ type: "spki", format: "der" })), message, ecdsa],
  ])("is false for %s", (_, key, signed, signature) => {
    expect(verifyEcdsaP256(key, signed, signature)).toBe(false)
  })

  test("is false, without throwing, for arbitrary bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ maxLength: 80 }), (key, signature) => {
        expect(verifyEcdsaP256(key, message, ecdsa)).toBe(false)
        expect(verifyEcdsaP256(spki, message, signature)).toBe(false)
      }),
      { numRuns: 50 },
    )
  })

  test("is true for any message signed by either", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), text => {
        expect(verifyEcdsaP256(spki, text, new Uint8Array(sign("sha256", text, ec.privateKey)))).toBe(true)
      }),
      { numRuns: 25 },
    )
  })

  test("still verifies after more keys than the Node cache holds", () => {
    for (let count = 0; count < 70; count++) {
      const other = generateKeyPairSync("ec", { namedCurve: "P-256" })
      const key = new Uint8Array(other.publicKey.export({ type: "spki", format: "der" }))
      expect(node.verifyEcdsaP256(key, message, new Uint8Array(sign("sha256", message, other.privateKey)))).toBe(true)
    }
    expect(verifyEcdsaP256(spki, message, ecdsa)).toBe(true)
  })
})

describe("Ed25519, in Node and in a browser", () => {
  test("accepts a signature of the message", () => {
    expect(verifyEd25519(raw, message, eddsa)).toBe(true)
  })

  test.each<[string, Uint8Array, Uint8Array, Uint8Array]>([
    ["another message", raw, new TextEncoder().encode("run 2"), eddsa],
    ["a changed R", raw, message, eddsa.with(0, eddsa[0]! ^ 1)],
    ["a changed S", raw, message, eddsa.with(40, eddsa[40]! ^ 1)],
    ["S not reduced", raw, message, unreduced(eddsa)],
    ["a short signature", raw, message, eddsa.subarray(0, 63)],
    ["a long signature", raw, message, Uint8Array.from([...eddsa, 0])],
    ["a short key", raw.subarray(1), message, eddsa],
    ["a key above the field", raw.map(() => 0xff), message, eddsa],
    ["another key", raw.with(0, raw[0]! ^ 1), message, eddsa],
  ])("is false for %s", (_, key, signed, signature) => {
    expect(verifyEd25519(key, signed, signature)).toBe(false)
  })

  test("is false, without throwing, for arbitrary bytes", () => {
    fc.assert(
      fc.property(bytes(32), bytes(64), (key, signature) => {
        expect(verifyEd25519(key, message, eddsa)).toBe(false)
        expect(verifyEd25519(raw, message, signature)).toBe(false)
      }),
      { numRuns: 50 },
    )
  })
})
