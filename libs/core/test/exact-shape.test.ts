/** The quick answer on shapes against valibot's own. */
import * as v from "valibot"
import { describe, expect, test } from "vitest"
import { bundleSchema } from "../src/artifacts/bundle-schema.ts"
import { hasExactShape } from "../src/artifacts/parse-exact.ts"
import { makeDeployment } from "./fixtures/deployment.ts"
import { asJson } from "./fixtures/json-values.ts"
import { knownValues, mutations } from "./fixtures/mutations.ts"
import { sealCorpus } from "./fixtures/sample-corpus.ts"

const { runs } = sealCorpus(makeDeployment())
const bundles = runs.map(({ name, document }) => ({ name, document: asJson(document.bundle) }))
const known = knownValues(bundles.map(({ document }) => document))
/** Every so many changes of a document are tried: which ones, differs from document to document. */
const STRIDE = 7

test.each(bundles)("the quick answer knows every bundle as it was sealed: $name", ({ document }) => {
  expect(hasExactShape(bundleSchema, document)).toBe(true)
})

test.each(bundles)(
  "what the quick answer accepts valibot accepts as it is: $name",
  { timeout: 120_000 },
  ({ document }) => {
    let tried = 0
    let accepted = 0
    for (const { document: changed, pointer, change } of mutations(document, known)) {
      if (tried++ % STRIDE !== 0 || !hasExactShape(bundleSchema, changed)) continue
      accepted++
      const parsed = v.safeParse(bundleSchema, changed)
      expect({ pointer, change, same: JSON.stringify(sorted(parsed.output)) }).toEqual({
        pointer,
        change,
        same: JSON.stringify(sorted(changed)),
      })
      expect(parsed.success).toBe(true)
    }
    expect(accepted).toBeGreaterThan(90)
  },
)

const sorted = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.entries(value)
    .map(([key, member]) => [key, sorted(member)])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
}

describe("the quick answer says no, so that valibot judges, to", () => {
  const schema = v.strictObject({ list: v.array(v.string()), name: v.exactOptional(v.string()) })
  test.each([
    ["a list that carries a key", { list: Object.assign(["a"], { more: "b" }) }],
    ["a member that is undefined", { list: [], name: undefined }],
    ["a key that every object inherits", { list: [], toString: "x" }],
    ["a list for an object", []],
  ])("%s", (_, value) => {
    expect(hasExactShape(schema, value)).toBe(false)
  })

  test("a value that only the inner one of two pipes refuses", () => {
    const line = v.pipe(v.pipe(v.string(), v.minLength(1)), v.maxLength(3))
    expect(["", "abc", "abcd"].map(text => hasExactShape(line, text))).toEqual([false, true, false])
  })

  test("every value of a schema it does not know", () => {
    const changing = v.strictObject({ at: v.pipe(v.string(), v.transform(Number)) })
    expect(hasExactShape(changing, { at: "1" })).toBe(false)
    expect(hasExactShape(v.object({ a: v.string() }), { a: "x" })).toBe(false)
  })
})
