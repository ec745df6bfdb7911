/** The strict JSON reader, held against the platform's. */
import { isDeepStrictEqual } from "node:util"
import {
  CanonicalizeError,
  canonicalize,
  isJsonValue,
  type JsonValue,
  parseCanonical,
  parseStrictJson,
  StrictJsonError,
} from "@runseal/canonical"
import { parseTrust } from "@runseal/log/trust/trust-document"
import { parseTrustedRoot } from "@runseal/log/trust/trusted-root"
import { trustText, vectors } from "../authentic.ts"
import { type FuzzTarget, promise, seedsOf, textOf } from "../fuzz-target.ts"

/** What the platform reads and we refuse: each loses something on the way to RFC 8785. */
const STRICTER: ReadonlySet<string> = new Set([
  "duplicate_key",
  "inexact_number",
  "unsafe_integer",
  "negative_zero",
  "lone_surrogate",
  "too_deep",
])

export const strictJson: FuzzTarget = {
  name: "strict-json",
  json: true,
  seeds: () => [
    ...vectors("receipts/valid"),
    ...seedsOf(
      "[1,2.5e-3,-7,0.1,1E2]",
      '{"b":{"a":[true,false,null]},"10":"x","9":"\\u00e9\\ud83d\\ude00\\n"}',
      ' "\u00e9" ',
      "[[[[]]]]",
    ),
    ...seedsOf(
      "123456789012345678",
      "1.7976931348623157e308",
      "5e-324",
      "0.30000000000000004",
      '{"__proto__":{"a":1}}',
    ),
  ],
  run: input => {
    const text = textOf(input)
    const strict = attempt(() => parseStrictJson(text), StrictJsonError)
    const plain = attempt<JsonValue, SyntaxError>(() => JSON.parse(text), SyntaxError)
    if (strict instanceof StrictJsonError) {
      promise(
        plain instanceof SyntaxError || STRICTER.has(strict.code),
        `JSON.parse reads what is refused as ${strict.code}`,
      )
      promise(parseCanonical(text) === undefined, "what is refused is taken for canonical")
      return
    }
    promise(isDeepStrictEqual(strict, plain), "JSON.parse reads another value")
    promise(writtenKeys(text) === keysIn(strict), "a key that is written twice is taken")
    const form = canonicalize(strict)
    promise(isDeepStrictEqual(parseStrictJson(form), strict), "the canonical form says something else")
    promise(canonicalize(parseStrictJson(form)) === form, "the canonical form is not stable")
    const quick = parseCanonical(text)
    promise(
      quick === undefined || (text === form && isDeepStrictEqual(quick, strict)),
      "the quick reader reads another value",
    )
    promise(isDeepStrictEqual(parseCanonical(form), strict), "the quick reader refuses a canonical form")
  },
}

/** Keys written in a JSON text: strings before a colon. */
const writtenKeys = (text: string): number =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/gs)].filter(([, colon]) => colon !== undefined).length

/** Members of all objects in a value. */
function keysIn(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0
  const parts = Object.values(value)
  return parts.reduce((sum: number, part: JsonValue) => sum + keysIn(part), Array.isArray(value) ? 0 : parts.length)
}

/** Values that were not parsed by us: what `canonicalize` takes, the strict reader gives back. */
export const plainValues: FuzzTarget = {
  name: "canonicalize",
  json: true,
  seeds: () =>
    seedsOf('{"a":1e400}', "[-0]", '["\\ud800"]', "[9007199254740993]", `${"[".repeat(70)}${"]".repeat(70)}`),
  run: input => {
    const value = attempt<JsonValue, SyntaxError>(() => JSON.parse(textOf(input)), SyntaxError)
    if (value instanceof SyntaxError) return
    const form = attempt(() => canonicalize(value), CanonicalizeError)
    promise(isJsonValue(value) === !(form instanceof CanonicalizeError), "isJsonValue and canonicalize disagree")
    if (typeof form === "string")
      promise(isDeepStrictEqual(parseStrictJson(form), value), "the strict reader refuses or changes it")
  },
}

const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]{1,300}$/u

/** Trust documents and trusted roots: keys, or one sentence on why not. */
export const trustDocuments: FuzzTarget = {
  name: "trust",
  json: true,
  seeds: () => [trustText()],
  run: input => {
    const value = attempt(() => parseStrictJson(input), StrictJsonError)
    if (value instanceof StrictJsonError) return
    const trust = parseTrust(value)
    if ("problem" in trust)
      promise(PRINTABLE.test(trust.problem), "the problem with a trust document is one printable line")
    else promise(trust.serviceKeys.length > 0 && trust.logKeys.length > 0, "a trust document without keys is taken")
    parseTrustedRoot(value)
  },
}

/** What `act` gives, or the one error that it may throw. */
function attempt<T, E extends Error>(act: () => T, refusal: abstract new (...of: never[]) => E): T | E {
  try {
    return act()
  } catch (error) {
    if (error instanceof refusal) return error
    throw error
  }
}
