import { sha256Hex } from "@runseal/canonical"
import fc from "fast-check"
import { expect, test } from "vitest"
import { bothDatabases } from "../../../spec/database/databases.ts"
import { BUNDLE_DICTIONARY_1 } from "./bundle-dictionary.ts"
import { openPacker, packBundle, unpackBundle } from "./bundle-text.ts"
import { findRun } from "./runs-table.ts"

const DICTIONARY_1_SHA256 = "85c79a35092c70ea76bf5383e02f1dcc7a7c25f4889d2da210523c97eebc40ac"

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
  const packed = Buffer.from("0128b52ffd202aad00002822c3a9227d044000a18783dcab536a8fc831450d", "hex")
  expect(unpackBundle(packed)).toBe('{"kind":"vfa.audit_bundle.v1","text":"é"}')
  expect(sha256Hex(BUNDLE_DICTIONARY_1)).toBe(DICTIONARY_1_SHA256)
})

test("what bundles have in common takes no room", () => {
  const words = '"kind":"vfa.leakage_bundle.v1","payload":"hash_only"},"migration_token":{"aer_hash":"'
  expect(packBundle(words).length).toBeLessThan(words.length / 2)
})

test("what no release has written is corrupt, and never another text", () => {
  const packed = packBundle('{"kind":"vfa.audit_bundle.v1"}'.repeat(20))
  const damaged = [
    Uint8Array.of(),
    Uint8Array.of(0, 0xff),
    Uint8Array.of(1),
    Uint8Array.of(2, ...packed.subarray(1)),
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

bothDatabases("bundles of an earlier release", open => {
  test("are stored unchanged, after a byte that marks them", async () => {
    const db = await open()
    const text = '{"text":"é😀"}'
    await db.sql`
      insert into run (run_id, owner, owner_ordinal, created_at, outcome_kind, error_stage, program_id, route_id,
        manifest_hash, execution_region, duration_us, bundle, disclosure_seed)
      values (1, 1, 1, 0, 'ok', '', '', '', '', '', 0, '\\x00'::bytea || convert_to(${text}, 'UTF8'), '\\x00'::bytea)`
    expect((await findRun(db, 1, 1))?.bundle).toBe(text)
  })
})
