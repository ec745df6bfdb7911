import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { CanonicalizeError, digest, digestWithout, sha256, sha256Hex, utf8Encode } from "./index.ts"
import * as noble from "./sha256.noble.ts"
import * as node from "./sha256.node.ts"

describe("SHA-256 (FIPS 180-4)", () => {
  const vectors: readonly (readonly [text: string, hex: string])[] = [
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    [
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ],
  ]
  test.each(vectors)("of %j", (text, hex) => {
    expect(sha256Hex(text)).toBe(hex)
    expect(sha256Hex(utf8Encode(text))).toBe(hex)
  })
  test("Node's and the browser's implementation agree on strings and bytes", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.uint8Array({ maxLength: 300 })), data => {
        expect(node.sha256(data)).toEqual(noble.sha256(data))
        expect(node.sha256Hex(data)).toBe(noble.sha256Hex(data))
      }),
    )
  })
  test("the result is a plain Uint8Array on Node too", () => {
    expect(Object.getPrototypeOf(sha256("abc"))).toBe(Uint8Array.prototype)
  })
})

describe("HMAC-SHA-256", () => {
  // RFC 4231 §4.2 and §4.3; most of its other cases have messages that are no text.
  test.each([
    [Buffer.alloc(20, 0x0b), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"],
    [
      Buffer.from("Jefe"),
      "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ],
  ])("gives what RFC 4231 gives", (key, message, expected) => {
    for (const { hmacSha256Hex } of [node, noble]) expect(hmacSha256Hex(key, message)).toBe(expected)
  })
  test("Node's and the browser's implementation agree", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.string({ unit: "grapheme" }), (key, message) => {
        expect(node.hmacSha256Hex(key, message)).toBe(noble.hmacSha256Hex(key, message))
      }),
    )
  })
})

describe("digest (docs/formats.md section 1)", () => {
  test("is the SHA-256 of the UTF-8 bytes of the canonical form", () => {
    expect(digest({ b: "é", a: [1, 0.5] })).toBe(sha256Hex('{"a":[1,0.5],"b":"é"}'))
  })
  test("of {} is the SHA-256 of two bytes", () => {
    expect(digest({})).toBe("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
  })
  test("does not depend on the order of members", () => {
    expect(digest({ a: 1, b: 2 })).toBe(digest({ b: 2, a: 1 }))
  })
  test("refuses what has no canonical form", () => {
    expect(() => digest({ a: Number.NaN })).toThrow(CanonicalizeError)
  })
})

test("a digest without a member is that of the object without it, at the top level alone", () => {
  const sealed = { kind: "x", hash: "h", inner: { hash: "i" }, list: [{ hash: "j" }] }
  const { hash: _, ...body } = sealed
  expect(digestWithout(sealed, "hash")).toBe(digest(body))
  expect(digestWithout(body, "hash")).toBe(digest(body))
  expect(digestWithout({ hash: "h" }, "hash")).toBe(digest({}))
})
