import { createHash, createPublicKey, generateKeyPairSync } from "node:crypto"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ed25519Spki, keyIdOfSpki, parseP256Spki, pemToSpki, spkiToPem } from "./spki.ts"

const newSpki = (curve: string): Uint8Array => {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: curve })
  return new Uint8Array(publicKey.export({ type: "spki", format: "der" }))
}
const spki = newSpki("P-256")
const pem = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" }).export({
  type: "spki",
  format: "pem",
})

describe("a P-256 SubjectPublicKeyInfo", () => {
  test("holds an uncompressed point of 65 bytes", () => {
    expect(parseP256Spki(spki)).toEqual(spki.subarray(-65))
  })

  test.each([
    ["another curve", newSpki("P-384")],
    ["another curve of the same size", newSpki("secp256k1")],
    ["a trailing byte", Uint8Array.from([...spki, 0])],
    ["a missing byte", spki.subarray(0, -1)],
    ["a compressed point's tag", spki.with(26, 2)],
    ["no bytes", Uint8Array.of()],
  ])("is refused with %s", (_, bytes) => {
    expect(parseP256Spki(bytes)).toBeUndefined()
  })

  test("is refused with any other byte before the point", () => {
    for (let at = 0; at <= 26; at++) expect(parseP256Spki(spki.with(at, spki[at]! ^ 1))).toBeUndefined()
  })

  test("is named by its SHA-256", () => {
    expect(keyIdOfSpki(spki)).toEqual(new Uint8Array(createHash("sha256").update(spki).digest()))
  })
})

describe("PEM", () => {
  test("is byte for byte Node's export", () => {
    expect(spkiToPem(spki)).toBe(pem)
    expect(pemToSpki(spkiToPem(spki))).toEqual(spki)
  })

  test("of any length reads back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
        expect(pemToSpki(spkiToPem(bytes))).toEqual(bytes)
      }),
    )
  })

  test.each([
    ["CRLF line ends", (text: string) => text.replaceAll("\n", "\r\n")],
    ["no final newline", (text: string) => text.slice(0, -1)],
    ["a second final newline", (text: string) => `${text}\n`],
    ["text before it", (text: string) => `key\n${text}`],
    ["lines of another length", (text: string) => text.replace(/\n(?=[A-Za-z0-9+/]+=*\n-)/, "")],
    ["another label", (text: string) => text.replaceAll("PUBLIC KEY", "EC PUBLIC KEY")],
    ["a space in the base64", (text: string) => text.replace("MFkw", "MFk w")],
    ["more than 1,024 characters", () => spkiToPem(new Uint8Array(900))],
  ])("is refused with %s", (_, change) => {
    const changed = change(pem.toString())
    expect(changed).not.toBe(pem)
    expect(pemToSpki(changed)).toBeUndefined()
  })

  test("never makes the reader throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), text => {
        const der = pemToSpki(`-----BEGIN PUBLIC KEY-----\n${text}-----END PUBLIC KEY-----\n`)
        expect(der === undefined || der instanceof Uint8Array).toBe(true)
      }),
    )
  })
})

test("an Ed25519 SubjectPublicKeyInfo is what Node exports", () => {
  const { publicKey } = generateKeyPairSync("ed25519")
  const exported = new Uint8Array(publicKey.export({ type: "spki", format: "der" }))
  expect(ed25519Spki(exported.subarray(-32))).toEqual(exported)
})
