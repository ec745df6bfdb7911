import { sha256Hex } from "@runseal/canonical"
import fc from "fast-check"
import { expect, test } from "vitest"
import { BUNDLE_DICTIONARY_2, openPacker, packBundle, unpackBundle } from "./bundle-text.ts"

const DICTIONARY_2_SHA256 = "0c1f5906b69787289b79c5c6c79da9fd43b2c3df3e94f0da2a0b3fa10ed4e40f"

test("a packer gives each of many texts the form that it has alone", async () => {
  const pack = openPacker()
  const long = Array.from({ length: 40_000 }, (_, i) => `${i * i}`).join()
  const texts = ["", "{}", long, '{"text":"é"}', long.slice(7)]
  const packed = await Promise.all(texts.map(text => pack(text)))
  expect(packed).toEqual(texts.map(packBundle))
})

test("any text comes back as it was", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 2_000 }), text => {
      expect(unpackBundle(packBundle(text))).toBe(text)
    }),
  )
})

test("what this release packed stays readable: neither form nor dictionary ever changes", () => {
  const packed = Buffer.from("0228b52ffd202aa500002822c3a9227d0440009ac5001c6706120a9e2a4e", "hex")
  expect(unpackBundle(packed)).toBe('{"kind":"vfa.audit_bundle.v2","text":"é"}')
  expect(sha256Hex(BUNDLE_DICTIONARY_2)).toBe(DICTIONARY_2_SHA256)
})

test("what bundles have in common takes no room", () => {
  const words = '"leaf":{"leaf_version":"vfa.complete_record.v1","previous_record":"","tenant_ordinal":'
  expect(packBundle(words).length).toBeLessThan(words.length / 2)
})

test("what no release has written is corrupt, and never another text", () => {
  const packed = packBundle('{"kind":"vfa.audit_bundle.v2"}'.repeat(20))
  const damaged = [
    Uint8Array.of(),
    Uint8Array.of(0, 0xff),
    Uint8Array.of(2),
    Uint8Array.of(1, ...packed.subarray(1)),
    packed.subarray(0, packed.length - 1),
  ]
  for (const stored of damaged)
    expect(() => unpackBundle(stored)).toThrowError(expect.objectContaining({ code: "corrupt" }))
})

test("a frame that claims more than any bundle has is refused before it is expanded", () => {
  expect(() => unpackBundle(packBundle("x".repeat(64 * 1024 * 1024 + 1)))).toThrowError(
    expect.objectContaining({ code: "corrupt" }),
  )
})
