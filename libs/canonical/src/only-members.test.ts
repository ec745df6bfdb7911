import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { canonicalize, isJsonValue } from "./canonicalize.ts"
import type { JsonObject } from "./json-value.ts"
import { onlyMembers, type WantedMembers } from "./only-members.ts"
import { parseStrictJson } from "./strict-json.ts"

const prune = (object: JsonObject, wanted: WantedMembers) => parseStrictJson(onlyMembers(canonicalize(object), wanted))

describe("the wanted members of a text", () => {
  test("stay, and others are left out", () => {
    const object = { a: 1, b: { c: [1, { d: "}" }], e: "x", f: {} }, g: "\\", h: '"', i: null }
    expect(prune(object, { a: true, b: { e: true, x: true }, h: true, z: true })).toEqual({
      a: 1,
      b: { e: "x" },
      h: '"',
    })
    expect(prune({}, { a: true })).toEqual({})
  })

  test("are those of the object itself, whatever stands in strings and in other objects", () => {
    const value = fc.jsonValue().map(made => parseStrictJson(JSON.stringify(isJsonValue(made) ? made : null)))
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "grapheme" }), value), value, (others, wanted) => {
        expect(prune({ ...others, a: wanted }, { a: true })).toEqual({ a: wanted })
        expect(prune({ others, b: { ...others, a: wanted } }, { b: { a: true } })).toEqual({ b: { a: wanted } })
      }),
    )
  })
})
