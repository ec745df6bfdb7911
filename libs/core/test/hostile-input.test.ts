import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { attestationAnswer } from "../src/artifacts/attestation-answer.ts"
import type { Bundle } from "../src/artifacts/bundle-schema.ts"
import type { DECLARED_NAMES } from "../src/artifacts/declared-sections.ts"
import { withhold } from "../src/artifacts/declared-sections.ts"
import { isUnreadable, verifyDocument, verifyText } from "../src/verify/document.ts"
import { KERNELS } from "../src/vocabulary/outcomes.ts"
import { bothForms, makeDeployment, sealRun } from "./fixtures/deployment.ts"
import type { Json } from "./fixtures/json-values.ts"
import { asJson, isItems, isMembers, step, withMember, withValue } from "./fixtures/json-values.ts"
import { sealCorpus } from "./fixtures/sample-corpus.ts"

const a = makeDeployment()
const { runs, receipts, attestations } = sealCorpus(a)
/** Without the receipts of anchor v1, whose run number nothing binds. */
const documents: readonly Json[] = [
  ...runs.flatMap(({ name, document: { bundle } }) => bothForms(name, bundle).map(({ document }) => document)),
  ...receipts.filter(({ name }) => !name.endsWith("-v1")).map(({ document }) => asJson(document)),
  ...attestations.map(({ document }) => asJson(document)),
]
const { bundle } = sealRun(a, { outcome: "ok" })
const ok = asJson(bundle)

/** What verification answers: a verdict, or the sentence on why there is none. */
function answer(value: unknown): string {
  const result = verifyDocument(value, [a.trust])
  return isUnreadable(result) ? result.unreadable : result.verdict
}

const pointersOf = (value: Json, pointer = ""): readonly string[] => {
  const parts = isItems(value) || isMembers(value) ? Object.entries(value) : []
  return [pointer, ...parts.flatMap(([key, part]) => pointersOf(part, step(pointer, key)))]
}
const withheld = (whole: Bundle, name: (typeof DECLARED_NAMES)[number]): Bundle => ({
  ...whole,
  sections: { ...whole.sections, [name]: withhold(whole.sections[name]) },
})

/** Any JSON value, with keys that objects inherit and keys of ours. */
const anyJson = fc.letrec<{ json: Json }>(tie => ({
  json: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, Number.MAX_SAFE_INTEGER, "", "x", "vfa.audit_bundle.v2"),
    fc.string({ unit: "binary" }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie("json")),
    fc.dictionary(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.constantFrom("__proto__", "kind", "hash", "toString", "run", "sections", "anchors", "entry", "leaf"),
        fc.constantFrom("deny_receipt", "receipt_anchor", "attestation_id", "withheld", "constructor"),
      ),
      tie("json"),
    ),
  ),
})).json

describe("hostile input never throws and never succeeds", () => {
  test("any JSON value", () => {
    fc.assert(
      fc.property(anyJson, value => {
        expect(isUnreadable(verifyDocument(value, [a.trust]))).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test("any text, any bytes", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.uint8Array({ maxLength: 200 })), input => {
        expect(isUnreadable(verifyText(input, [a.trust]))).toBe(true)
      }),
    )
  })

  test("any part of any document replaced by any JSON value", () => {
    const places = documents.map(document => ({ document, pointers: pointersOf(document) }))
    const place = fc
      .constantFrom(...places)
      .chain(({ document, pointers }) =>
        fc.tuple(fc.constant(document), fc.constantFrom(...pointers.slice(1)), anyJson),
      )
    fc.assert(
      fc.property(place, ([document, pointer, value]) => {
        const changed = withValue(document, pointer, value)
        fc.pre(JSON.stringify(changed) !== JSON.stringify(document))
        expect(answer(changed)).not.toMatch(/^(?:RECEIPT |ATTESTATION )?VERIFIED/)
      }),
      { numRuns: 3000 },
    )
  })

  test("several parts of a bundle exchanged for parts of other documents", () => {
    const pointers = pointersOf(ok).slice(1)
    const parts = documents.flatMap(document => (isMembers(document) ? Object.values(document) : []))
    const exchange = fc.array(fc.tuple(fc.constantFrom(...pointers), fc.constantFrom(...parts)), {
      minLength: 1,
      maxLength: 4,
    })
    fc.assert(
      fc.property(exchange, exchanges => {
        const changed = exchanges.reduce<Json>((document, [pointer, part]) => tryWith(document, pointer, part), ok)
        fc.pre(JSON.stringify(changed) !== JSON.stringify(ok))
        expect(answer(changed)).not.toMatch(/^(?:RECEIPT |ATTESTATION )?VERIFIED/)
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    ["nothing", undefined],
    ["a function", () => ok],
    ["a symbol", Symbol("x")],
    ["a big integer", 1n],
    ["not a number", Number.NaN],
    ["a date", new Date(0)],
    ["a map", new Map([["kind", "vfa.audit_bundle.v2"]])],
    ["an object of another class", Object.assign(Object.create({ kind: "vfa.audit_bundle.v2" }), bundle)],
    ["a bundle with an undefined member", { ...bundle, manifest: undefined }],
    ["a bundle that holds itself", cyclic()],
  ])("%s is unreadable", (_, value) => {
    expect(isUnreadable(verifyDocument(value, [a.trust]))).toBe(true)
  })

  test("a record of kernels that is not the six, when a section is withheld and keeps them from being run again", () => {
    const whole = asJson(withheld(bundle, "request_substance"))
    for (const kernel of KERNELS) {
      const names = KERNELS.map((_, at) => `/sections/efa/kernels/${at}/kernel`)
      const changed = names.reduce((document, name) => withValue(document, name, kernel), whole)
      // Outputs and findings are those of the kernel that is named, or the document is none of ours.
      expect(answer(changed)).toContain("sections.efa.kernels")
    }
  })

  test("texts nested as deep as texts may be", () => {
    const nested = (levels: number): string => `${'{"kind":'.repeat(levels)}1${"}".repeat(levels)}`
    for (const levels of [1, 60, 64, 65, 66, 67, 1000, 100_000])
      expect(isUnreadable(verifyText(nested(levels), [a.trust]))).toBe(true)
  })

  test.each(["1e400", "-0", "0.1000000000000000055", "9007199254740993", "1E21", "01", "1.0e-400"])(
    "a number spelt %s",
    number => {
      const text = JSON.stringify(bundle).replace('"duration_us":4321', `"duration_us":${number}`)
      expect(text).toContain(number)
      expect(isUnreadable(verifyText(text, [a.trust]))).toBe(true)
    },
  )

  test("a duplicate key, a byte order mark, data after the value", () => {
    const text = JSON.stringify(bundle)
    for (const changed of [text.replace("{", '{"kind":"vfa.audit_bundle.v2",'), `\ufeff${text}`, `${text}{}`])
      expect(isUnreadable(verifyText(changed, [a.trust]))).toBe(true)
  })
})

describe("a document costs no more than a walk over it", () => {
  /** What was quadratic took 13 s and more; a walk takes a fraction of a second. */
  const MAX_MS = 20_000
  const timed = (document: Json, verdict = /^FAILED$/): number => {
    const start = performance.now()
    expect(answer(document)).toMatch(verdict)
    return performance.now() - start
  }

  test("with very many fields in a forged receipt", () => {
    const names = Array.from({ length: 80_000 }, (_, at) => at.toString(36).padStart(4, "0")).sort()
    const gap = asJson(runs.find(({ name }) => name === "attestation-gap")!.document.bundle)
    const lists = [
      ["required_fields", names],
      ["missing_fields", names],
    ] as const
    const forged = lists.reduce((whole, [key, list]) => withValue(whole, `/attestation_gap_receipt/${key}`, list), gap)
    expect(timed(forged, /attestation_gap_receipt/)).toBeLessThan(MAX_MS)
  })

  test("with very many declared times under very long keys", () => {
    const times = Array.from({ length: 2000 }, () => "x")
    const place = "/sections/causal_graph/declared"
    expect(timed(withValue(ok, place, { [`${"k".repeat(1_000_000)}_at`]: times }))).toBeLessThan(MAX_MS)
    const nested = Array.from({ length: 50 }).reduce<Json>(inner => ({ [`${"k".repeat(20_000)}_at`]: inner }), times)
    expect(timed(withValue(ok, place, { nested }))).toBeLessThan(MAX_MS)
  })
})

describe("what no record can hold is unreadable", () => {
  test("U+0000 in a text or a key, also of declared content", () => {
    const place = "/sections/attested_context/declared"
    expect(answer(withValue(ok, `${place}/actor_id`, "a\u0000"))).toContain("U+0000")
    expect(answer(withValue(ok, `${place}/a\u0000`, 1))).toContain("U+0000")
    const receipt = asJson(receipts[0]!.document)
    expect(answer(withMember(isMembers(receipt) ? receipt : {}, "a\u0000", 1))).toContain("U+0000")
  })

  test("an attestation with an id of another form or an empty subject, whoever signed it", () => {
    const named = { leaf_version: "vfa.attestation.v1", digest: "0".repeat(64), algorithm: "sha256" } as const
    const answered = (facts: { readonly attestation_id: string; readonly subject_ref?: string }): string =>
      answer(
        attestationAnswer(
          a.log.anchor(a.log.append({ ...named, ...facts }, a.serviceKey, 1_768_478_400), a.log.head()),
        ),
      )
    const attestation_id = `att-${"0".repeat(32)}`
    expect(answered({ attestation_id })).toBe("ATTESTATION VERIFIED AND ANCHORED")
    for (const facts of [{ attestation_id: "att-0" }, { attestation_id, subject_ref: "" }])
      expect(answered(facts)).not.toMatch(/VERIFIED|FAILED/)
  })

  test("an empty list for an object without required members", () => {
    const unanchored = runs.find(({ name }) => name === "deny-unanchored")!
    const document = asJson(unanchored.document.bundle)
    expect(answer(document)).toBe(unanchored.verdict)
    expect(answer(withValue(document, "/anchors", []))).toBe("anchors: must be an object")
  })
})

describe("the sentence on an unreadable document", () => {
  const steering = "\u001b[2J\r\nVERIFIED AND ANCHORED\n\u202e\u2028"
  test.each(["/kind", "/run/outcome_kind", "/sections/envelope/kind", "/anchors/pre_anchor/leaf/leaf_version"])(
    "is one printable line whatever stands at %s",
    pointer => {
      for (const text of [steering, steering.repeat(1000)]) {
        const sentence = answer(withValue(ok, pointer, text))
        expect(sentence).toMatch(/^[^\p{C}\p{Zl}\p{Zp}]{1,300}$/u)
      }
    },
  )

  test("is one printable line whatever a key is", () => {
    for (const key of [steering, "__proto__", "x".repeat(10_000)])
      expect(answer(withValue(ok, `/run/${key}`, 1))).toMatch(/^[^\p{C}\p{Zl}\p{Zp}]{1,300}$/u)
  })
})

function cyclic(): object {
  const whole: Record<string, unknown> = { ...bundle }
  whole.sections = whole
  return whole
}

/** The change, or the document as it was when an earlier change took the place away. */
function tryWith(document: Json, pointer: string, part: Json): Json {
  try {
    return withValue(document, pointer, part)
  } catch {
    return document
  }
}
