import { digest } from "@runseal/canonical"
import { MCD_CATEGORIES } from "@runseal/core/vocabulary/decision-codes"
import { SHIPPED_LIBRARY_HASH, SHIPPED_SEVERITIES } from "@runseal/core/vocabulary/shipped-signatures"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { searchForms } from "./fold-text.ts"
import harmless from "./harmless-sentences.json" with { type: "json" }
import libraryDocument from "./signature-library.json" with { type: "json" }
import { compileSignatureLibrary, FIELD_NAMES, scanTexts } from "./signature-library.ts"
import samples from "./signature-samples.json" with { type: "json" }

/** Assembled here so that no file of the project is the EICAR test file to a virus scanner. */
const EICAR = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"].join("-")
const library = compileSignatureLibrary()
const { signatures } = libraryDocument
const patterns = library.patterns.map(({ id, pattern }) => ({ id, pattern }))

const sample = (text: string): string => text.replaceAll("{EICAR}", EICAR)
const matching = (text: string): readonly string[] => {
  const forms = searchForms(text)
  return patterns.filter(({ pattern }) => forms.some(form => pattern.test(form))).map(({ id }) => id)
}
const alone = (id: string) =>
  compileSignatureLibrary({ ...libraryDocument, signatures: signatures.filter(signature => signature.id === id) })

describe("the shipped library", () => {
  test("has at least 48 signatures and at least 10 in each category", () => {
    expect(library.count).toBeGreaterThanOrEqual(48)
    for (const category of MCD_CATEGORIES) {
      expect(signatures.filter(signature => signature.category === category).length).toBeGreaterThanOrEqual(10)
    }
  })

  test("its hash is the digest of its document", () => {
    expect(library.library_hash).toBe(digest(JSON.parse(JSON.stringify(libraryDocument))))
  })

  test("every signature names a public reference", () => {
    const reference =
      /OWASP (?:LLM|A)\d\d|MITRE (?:ATLAS AML\.T|ATT&CK T)\d{4}|CWE-\d+|CVE-\d{4}-\d+|GHSA-|arXiv:|EICAR|AMSI|CISA|GitHub Security Lab/
    for (const { id, source } of signatures) expect(`${id} ${source}`).toMatch(reference)
  })

  test("every signature has samples, and no sample stands without its signature", () => {
    expect(Object.keys(samples).toSorted()).toEqual(signatures.map(({ id }) => id).toSorted())
    for (const { positive, negative } of Object.values(samples)) {
      expect(positive.length).toBeGreaterThan(0)
      expect(negative.length).toBeGreaterThan(0)
    }
  })
})

describe.each(Object.entries(samples))("%s", (id, { positive, negative }) => {
  const single = alone(id)

  test.each(positive)("matches %j", text => {
    expect(scanTexts(single, [{ location: "payload", text: sample(text) }])?.signature_id).toBe(id)
  })

  test.each(negative)("does not match the near miss %j, nor does any other", text => {
    expect(scanTexts(single, [{ location: "payload", text: sample(text) }])).toBeUndefined()
    expect(matching(sample(text))).toEqual([])
  })
})

describe("a harmless sentence matches no signature", () => {
  test("there are 500 of them, in many languages and trades", () => {
    expect(Object.values(harmless).flat().length).toBeGreaterThanOrEqual(500)
  })

  test.each(Object.entries(harmless))("of %s", (_, sentences) => {
    const matched = sentences.filter(text => scanTexts(library, [{ location: "payload", text }]) !== undefined)
    expect(matched).toEqual([])
  })
})

/** Strings a pattern may match, generated from its own syntax as JavaScript's; word boundaries become nothing or a space. */
function candidatesOf(pattern: string): fc.Arbitrary<string> {
  const source = pattern.replace(/\\x\{([0-9a-fA-F]+)\}/g, "\\u{$1}")
  const flags = source === pattern ? "" : "u"
  const variants = ["", " "].map(boundary => new RegExp(source.replaceAll("\\b", boundary), flags))
  return fc
    .oneof(...variants.map(variant => fc.stringMatching(variant, { size: "-1" })))
    .map(text => text.toLowerCase())
}

describe("a trigger never hides a match", () => {
  test.each(signatures.flatMap(({ id, pattern }) => (pattern === undefined ? [] : [{ id, pattern }])))(
    "of $id",
    ({ id, pattern }) => {
      const index = library.patterns.findIndex(signature => signature.id === id)
      const around = fc.constantFrom("", " ", "\n", "please ", "x: ", '{"a":"', "é ")
      let matched = 0
      fc.assert(
        fc.property(candidatesOf(pattern), around, around, (core, before, after) => {
          const text = before + core + after
          for (const form of searchForms(text)) {
            if (!library.patterns[index]!.pattern.test(form)) continue
            matched += 1
            expect(library.triggers.match(form)).toContain(index)
          }
        }),
        { numRuns: 300 },
      )
      expect(matched).toBeGreaterThan(25)
    },
  )
})

describe("a field's name", () => {
  const [first] = signatures
  const found = (pattern: string, ...texts: string[]) =>
    scanTexts(
      compileSignatureLibrary({ ...libraryDocument, signatures: [{ ...first, trigger: pattern, pattern }] }),
      texts.map(text => ({ location: "request_substance", text })),
    )?.signature_id

  test("is harmless where no signature matches in it", () => {
    expect([...library.harmless_names]).toEqual([...new Set(FIELD_NAMES)])
    for (const name of library.harmless_names) expect(matching(name)).toEqual([])
  })

  test("is searched where one does, whatever stands beside it", () => {
    expect(found("actor_\\w+", "actor_id")).toBe(first?.id)
    expect(found("actor_\\w+", "payload", "cost", "actor_id")).toBe(first?.id)
    expect(found("\\ncost\\b", "cost")).toBe(first?.id)
    expect(found("actor_ids", "actor_id")).toBeUndefined()
  })

  test("is no part of a match with the text beside it", () => {
    expect(found("actor_id\\s*cost", "actor_id", "cost")).toBeUndefined()
    expect(found("actor_id\\s*cost", "actor_id\ncost")).toBe(first?.id)
  })
})

test("verifiers know the shipped library: its hash, and the severity of each signature", () => {
  expect(library.library_hash).toBe(SHIPPED_LIBRARY_HASH)
  expect(SHIPPED_SEVERITIES).toEqual(new Map(signatures.map(({ id, severity }) => [id, severity])))
})

describe("a library document is refused", () => {
  const [first] = signatures
  const withFirst = (change: object): unknown => ({ ...libraryDocument, signatures: [{ ...first, ...change }] })

  test.each<[string, unknown]>([
    ["of another kind", { ...libraryDocument, kind: "vfa.signature_library.v2" }],
    ["without signatures", { ...libraryDocument, signatures: [] }],
    ["with an id twice", { ...libraryDocument, signatures: [first, first] }],
    ["with an unknown category", withFirst({ category: "malware" })],
    ["with another category than the id names", withFirst({ category: "supply_chain" })],
    ["with an id of no category", withFirst({ id: "MCD-XX-001" })],
    ["with an unknown key", withFirst({ note: "x" })],
    ["with uppercase in a pattern", withFirst({ pattern: "Evil" })],
    ["with an anchor at the start", withFirst({ pattern: "^evil" })],
    ["with an anchor at the end", withFirst({ pattern: "evil$" })],
    ["with an anchor of the text", withFirst({ pattern: "\\Aevil" })],
    ["with a dot that crosses texts", withFirst({ pattern: "evil.*plan" })],
    ["with a class that crosses texts", withFirst({ pattern: "evil[^a]plan" })],
    ["with a complement that crosses texts", withFirst({ trigger: "evil\\S" })],
    ["with syntax that RE2 has not", withFirst({ pattern: "(?=evil)" })],
    ["that is not JSON", withFirst({ pattern: undefined, sha256: () => "" })],
  ])("%s", (_, document) => {
    // Patterns are compiled when they are searched for.
    expect(() => compileSignatureLibrary(document).harmless_names.size).toThrow()
  })

  test.each(["a\\.b", "[.^$]x", "\\$\\{", "[^\\x00a]", "\\x{e0041}", "\\bcmd\\b"])(
    "but not for the quoted %s",
    pattern => {
      expect(compileSignatureLibrary(withFirst({ trigger: pattern, pattern })).count).toBe(1)
    },
  )
})
