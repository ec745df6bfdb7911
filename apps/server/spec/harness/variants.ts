/** Every way in which a document can differ in one place. */
import type { JsonObject, JsonValue } from "@runseal/canonical"

export type Variant = { readonly at: string; readonly document: JsonValue }

/** Another value of the same kind. */
function changed(value: JsonValue): JsonValue {
  if (typeof value === "number") return value + 1
  if (typeof value === "boolean") return !value
  if (typeof value !== "string") return null
  const [first = ""] = value
  return /[0-9a-z]/i.test(first) ? (first === "1" ? "2" : "1") + value.slice(1) : `1${value}`
}

/** Every document that differs in one value, and every document that lacks one member or item. */
export function* variants(value: JsonValue, path = ""): Generator<Variant> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      for (const { at, document } of variants(item, `${path}/${i}`)) yield { at, document: value.with(i, document) }
      yield { at: `${path}/${i} dropped`, document: value.toSpliced(i, 1) }
    }
  } else if (typeof value === "object" && value !== null) {
    const members = value as JsonObject
    for (const key of Object.keys(members)) {
      for (const { at, document } of variants(members[key] ?? null, `${path}/${key}`))
        yield { at, document: { ...members, [key]: document } }
      const { [key]: _dropped, ...rest } = members
      yield { at: `${path}/${key} dropped`, document: rest }
    }
    yield { at: `${path} with one more`, document: { ...members, additional: 1 } }
  } else yield { at: path, document: changed(value) }
}
