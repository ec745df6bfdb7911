import { createHmac } from "node:crypto"
import { digest } from "@runseal/canonical"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { seededHex } from "../../log/test/seeded-keys.ts"
import { DECLARED_NAMES, withhold } from "../src/artifacts/declared-sections.ts"
import { windowStart } from "../src/formulas/decision.ts"
import { anchoringWindow } from "../src/formulas/leaves.ts"
import { sectionSalt } from "../src/formulas/moment.ts"
import { declaredSection, declaredSectionsHash, payloadSection } from "../src/formulas/pre-execution.ts"
import { isSealOf, manifestHash, seal, sealHash } from "../src/formulas/seal.ts"
import { makeDeployment, sealRun } from "./fixtures/deployment.ts"

describe("a sealed object", () => {
  test("carries the digest of everything but its hash, whatever hash it carried", () => {
    const sealed = seal({ kind: "x", value: 1 })
    expect(sealHash(sealed)).toBe(sealed.hash)
    expect(sealHash({ ...sealed, hash: "other" })).toBe(sealed.hash)
    expect(sealHash({ ...sealed, value: 2 })).not.toBe(sealed.hash)
  })

  test("covers a member called __proto__", () => {
    const hidden: { hash: string } = JSON.parse('{"kind":"x","__proto__":{"a":1},"hash":""}')
    expect(sealHash(hidden)).not.toBe(sealHash({ kind: "x", hash: "" }))
  })

  test("called manifest carries ManifestHash instead", () => {
    expect(manifestHash({ a: 1, ManifestHash: "x" })).toBe(manifestHash({ a: 1 }))
    expect(manifestHash({ a: 1, hash: "x" })).not.toBe(manifestHash({ a: 1 }))
  })

  test("gives its hash to what says the same, and nothing else: by comparing as by hashing", () => {
    const value = fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.array(fc.boolean(), { maxLength: 2 }))
    const body = fc.dictionary(fc.constantFrom("kind", "a", "b", "hash", "__proto__", "0"), value, { maxKeys: 4 })
    fc.assert(
      fc.property(body, body, ({ hash: _, ...parts }, other) => {
        const sealed = seal(parts)
        for (const one of [other, parts, { ...parts, kind: "x" }, sealed])
          for (const intact of [true, false]) expect(isSealOf(sealed, one, intact)).toBe(digest(one) === sealed.hash)
      }),
    )
  })
})

describe("a declared section", () => {
  const moment = { at: "2026-01-15T12:00:00.000Z", nonce: seededHex("x", "nonce"), seed: seededHex("x", "seed") }

  test("has a salt that its seed and name give, and no other", () => {
    const salts = DECLARED_NAMES.map(name => sectionSalt(moment, name))
    expect(new Set(salts).size).toBe(DECLARED_NAMES.length)
    expect(salts[0]).toBe(
      createHmac("sha256", Buffer.from(moment.seed, "hex")).update("attested_context").digest("hex"),
    )
    expect(() => sectionSalt({ seed: "secret" }, "causal_graph")).toThrow(RangeError)
  })

  test("has no `declared` when nothing was declared, which is another fact than an empty object", () => {
    const [absent, empty] = [undefined, {}].map(declared => seal(declaredSection("causal_graph", moment, declared)))
    expect(absent).not.toHaveProperty("declared")
    expect(empty!.hash).not.toBe(absent!.hash)
  })

  test("keeps its hash when it is withheld, so every hash over it stands", () => {
    const { sections } = sealRun(makeDeployment(), { outcome: "ok" }).bundle
    const withheld = Object.fromEntries(DECLARED_NAMES.map(name => [name, withhold(sections[name])]))
    expect(Object.values(withheld).every(section => Object.keys(section).join() === "kind,withheld,hash")).toBe(true)
    expect(declaredSectionsHash({ ...sections, ...withheld })).toBe(declaredSectionsHash(sections))
  })
})

test("a payload is counted in bytes of UTF-8, and an empty one is a payload", () => {
  expect(payloadSection("Größe 1 m²", undefined)).toMatchObject({ payload_bytes: 13 })
  expect(payloadSection("", "")).toMatchObject({ payload_bytes: 0, ai_output_bytes: 0 })
  expect(payloadSection("", undefined)).not.toHaveProperty("ai_output_hash")
})

describe("a window", () => {
  test("of a budget begins at a multiple of its length since the epoch", () => {
    const day = 86_400
    const noon = Date.parse("2026-01-15T12:00:00.000Z")
    expect(new Date(windowStart(noon, day)).toISOString()).toBe("2026-01-15T00:00:00.000Z")
    expect(windowStart(windowStart(noon, day), day)).toBe(windowStart(noon, day))
    expect(windowStart(windowStart(noon, day) - 1, day)).toBe(windowStart(noon, day) - day * 1000)
  })

  test("of anchoring is the 600 s from the admission's second", () => {
    expect(anchoringWindow("2026-01-15T12:00:00.999Z")).toBe("2026-01-15T12:00:00Z/2026-01-15T12:10:00Z")
    expect(anchoringWindow("2026-12-31T23:59:59.000Z")).toBe("2026-12-31T23:59:59Z/2027-01-01T00:09:59Z")
    expect(() => anchoringWindow("now")).toThrow(RangeError)
  })
})
