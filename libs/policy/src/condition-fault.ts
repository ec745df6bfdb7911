/**
 * What is wrong with a condition, and where, in words of our own. The engine's message is about a text that the author did not write: it
 * counts bytes, and names brackets that were put around the condition.
 */
import type { DetailedError } from "@cedar-policy/cedar-wasm/nodejs"
import { utf8Decode, utf8Encode } from "@runseal/canonical"
import { attributesOf } from "@runseal/core/formulas/policy-context"

/** Kinds of faults, by what the engine says of them; the first that fits counts. */
const KINDS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/optional attribute/, "the attribute may be absent: ask `has` first"],
  [/ not found/, "there is no such attribute"],
  [/unexpected type|not compatible/, "the types do not fit"],
  [/is impossible/, "the rule matches no run"],
  [/unrecognized (entity type|action)/, "there is no such type or action"],
  [/mixed scripts|BIDI|confusable/i, "the text has characters that look like others"],
  [/empty set/, "the set is empty"],
  [/extension function argument|non-literal|number of arguments/, "the function does not take these arguments"],
  [/not a valid (function|method)|is a method|is a function/, "there is no such function or method"],
  [/invalid variable/, "there is no such name: attributes begin with `context.`, and texts have double quotes"],
  [/too large/, "the number is too large"],
  [/single quotes|strings are closed/, "texts begin and end with a double quote"],
  [/'=' is not/, "two values are compared with `==`"],
  [/unexpected token|invalid token/, "the condition cannot be read from there on"],
]

/** Where the condition begins in a text, how it is written, and which act it may read. */
type Condition = { readonly head: string; readonly when: string } & NonNullable<Parameters<typeof attributesOf>[1]>

/** The place and the reason, as the end of a sentence without its full stop. */
export function conditionFault(error: DetailedError | undefined, condition: Condition): string {
  const { message = "", help, sourceLocations = [] } = error ?? {}
  const reported = `${message} ${help ?? ""}`
  const reason =
    unknownAttribute(message, condition) ??
    KINDS.find(([pattern]) => pattern.test(reported))?.[1] ??
    "the engine does not accept it"
  return `${placeOf(sourceLocations[0]?.start, condition)}${reason}`
}

/** A name that can be shown, of an attribute that the context does not have. */
const NOT_FOUND = /attribute `((?:\w{1,64}\.){0,2})(\w{1,64})` in context .* not found/

/** Names the attribute, and those that there are beside it; undefined for any other fault. */
function unknownAttribute(message: string, condition: Condition): string | undefined {
  const [, within, name] = NOT_FOUND.exec(message) ?? []
  if (within === undefined || name === undefined) return undefined
  if (within === "" && name === "act")
    return "the rule reads an act and names none: give it the name of its act table under `act`"
  const known = attributesOf(within.slice(0, -1), condition).map(each => `context.${within}${each}`)
  return `there is no attribute context.${within}${name}, only ${known.join(", ")}`
}

/** @param start in bytes of the whole text */
function placeOf(start: number | undefined, { head, when }: Condition): string {
  const at = (start ?? 0) - utf8Encode(head).length
  if (at < 0) return ""
  const bytes = utf8Encode(when)
  if (at >= bytes.length) return "at its end: "
  const lines = (utf8Decode(bytes.subarray(0, at)) ?? when).split("\n")
  return `at line ${lines.length}, column ${[...(lines.at(-1) ?? "")].length + 1}: `
}
