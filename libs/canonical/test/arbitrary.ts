import fc from "fast-check"
import type { JsonValue } from "../src/index.ts"

/** Keys that have tripped JSON code: prototype names, array indices (listed out of order by engines), the empty key. */
const awkwardKeys: readonly string[] = [
  "__proto__",
  "constructor",
  "toJSON",
  "toString",
  "length",
  "",
  "0",
  "9",
  "10",
  "-1",
]

/** Well-formed strings over all of Unicode, controls included. */
export const textArbitrary: fc.Arbitrary<string> = fc.string({ unit: "binary" })

const keyArbitrary: fc.Arbitrary<string> = fc.oneof(
  textArbitrary,
  fc.constantFrom(...awkwardKeys),
  fc.nat().map(String),
)

/** Doubles our rules accept. */
export const numberArbitrary: fc.Arbitrary<number> = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .filter(value => !Object.is(value, -0) && (Number.isSafeInteger(value) || !Number.isInteger(value)))

/** Values our rules accept. */
export const jsonArbitrary: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), numberArbitrary, textArbitrary),
    fc.array(tie("value")),
    fc.array(fc.tuple(keyArbitrary, tie("value"))).map(entries => Object.fromEntries(entries)),
  ),
})).value
