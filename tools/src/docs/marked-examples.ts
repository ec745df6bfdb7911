/**
 * The examples of docs/formats.md: JSON blocks under a comment that says what they are.
 * `part <example> <path>` is that place of the example's bundle, `preimage <example> <path>` what the hash at that place is
 * taken over, `statement <example>` the example's run statement, `trust` the trust document.
 */
import type { JsonValue } from "@runseal/canonical"
import { isObject, member } from "@runseal/core/vocabulary/json-members"

export const FORMATS: URL = new URL("../../../docs/formats.md", import.meta.url)

export type MarkedExample = {
  readonly kind: "part" | "preimage" | "statement" | "trust"
  /** Name of the request in examples/; "" for the trust document. */
  readonly example: string
  /** Dotted path in the example's bundle; "" for a statement and for the trust document. */
  readonly path: string
  readonly json: string
}

const BLOCK = /(?<=<!-- (?<mark>[\w. -]+) -->\n```json\n)[\s\S]*?(?=\n```)/g

function exampleOf(mark: string, json: string): MarkedExample {
  const [kind, example = "", path = ""] = mark.split(" ")
  if (kind === "part" || kind === "preimage") return { kind, example, path, json }
  if (kind === "statement" || mark === "trust")
    return { kind: kind === "statement" ? kind : "trust", example, path, json }
  throw new Error(`the page has a block marked ${mark}`)
}

/** Every marked block, in the order of the page. */
export const markedExamples = (page: string): readonly MarkedExample[] =>
  [...page.matchAll(BLOCK)].map(match => exampleOf(match.groups?.mark ?? "", match[0]))

/** The page with other JSON in every marked block. */
export const replaceExamples = (page: string, json: (marked: MarkedExample) => string): string =>
  page.replace(BLOCK, (old: string, mark: string) => json(exampleOf(mark, old)))

/** The value at a dotted path, array indices included; undefined where there is none. */
export const at = (value: JsonValue | undefined, path: string): JsonValue | undefined =>
  path.split(".").reduce<JsonValue | undefined>((found, key) => {
    if (Array.isArray(found)) return found[Number(key)]
    return member(found, key)
  }, value)

/** The value with another put at a dotted path of objects. */
export function put(value: JsonValue | undefined, path: string, inner: JsonValue): JsonValue {
  const [key = "", ...rest] = path.split(".")
  const object = isObject(value) ? value : {}
  return { ...object, [key]: rest.length === 0 ? inner : put(member(object, key), rest.join("."), inner) }
}
