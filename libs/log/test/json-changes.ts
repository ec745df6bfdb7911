import { decodeBase64, encodeBase64 } from "@runseal/canonical"

/** A JSON document and every document that differs from it in one place. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Ways to change one value of a JSON document into a similar one. */
function variants(value: Json): Json[] {
  if (Array.isArray(value)) return [value.slice(1), [...value, value[0]!], value.toReversed()]
  if (typeof value !== "string") return []
  const texts: Json[] = ["", `${value} `, value.slice(0, -1), 0, null]
  if (/^[0-9]+$/.test(value))
    return [...texts, `${Number(value) + 1}`, `0${value}`, `${value}.0`, "9007199254740993", "-1"]
  const bytes = decodeBase64(value)
  if (bytes === undefined) return [...texts, `${value}!`, value.toUpperCase(), value.replace("\n", "\r\n")]
  const flipped = [0, bytes.length >> 1, bytes.length - 1].map(at => encodeBase64(bytes.with(at, bytes[at]! ^ 1)))
  return [...texts, ...flipped, value.replace(/=+$/, ""), `${value}====`, encodeBase64(bytes.slice(1))]
}

/** Every document that differs from `value` in one place: a value changed, a field left out, a field added. */
export function changes(value: Json): Json[] {
  const here = variants(value).filter(variant => JSON.stringify(variant) !== JSON.stringify(value))
  if (Array.isArray(value))
    return [...here, ...value.flatMap((item, at) => changes(item).map(to => value.with(at, to)))]
  if (value === null || typeof value !== "object") return here
  const fields = Object.keys(value).flatMap(key => [
    ...changes(value[key]!).map(to => ({ ...value, [key]: to })),
    Object.fromEntries(Object.entries(value).filter(([name]) => name !== key)),
  ])
  return [...here, ...fields, { ...value, extra: "field" }]
}
