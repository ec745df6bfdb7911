/**
 * Places of texts in a request, as a finding names them: RFC 6901 pointers in which a key that is not plain is written as its position,
 * because a finding is shown to people and the key may be the very text that matched. docs/formats.md section 3.2.
 */
import type { JsonObject, JsonValue } from "@runseal/canonical"
import { isObject } from "./json-members.ts"

/** A key that is written out: 1 to 64 of these characters. */
const PLAIN_KEY = /^[\w.-]{1,64}$/
const POSITION = /^#(\d{1,7})$/

/** Where a text is: its key below another place. */
export type Place = { readonly parent: Place | undefined; readonly segment: () => string }

const memberPlace = (parent: Place, object: JsonObject, key: string): Place => ({
  parent,
  segment: () => (PLAIN_KEY.test(key) ? key : `#${Object.keys(object).sort().indexOf(key)}`),
})

/** Calls `visit` with every text of a value in order, keys before their members, and its place. */
export function visitTexts(value: JsonValue, place: Place, visit: (text: string, place: Place) => void): void {
  if (typeof value === "string") visit(value, place)
  else if (Array.isArray(value))
    value.forEach((item, i) => {
      visitTexts(item, { parent: place, segment: () => String(i) }, visit)
    })
  else if (isObject(value))
    for (const key of Object.keys(value)) {
      const at = memberPlace(place, value, key)
      visit(key, at)
      visitTexts(value[key] ?? null, at, visit)
    }
}

/** The place of a member of the request. */
export const requestPlace = (name: string): Place => ({ parent: undefined, segment: () => name })

/** The pointer of a place. */
export const placePointer = ({ parent, segment }: Place): string =>
  `${parent === undefined ? "" : placePointer(parent)}/${segment()}`

/** The texts at a pointer below a value, given by its segments: the text itself, and the key it has; none when there is no such place. */
export function textsAt(value: JsonValue | undefined, segments: readonly string[], key = ""): readonly string[] {
  const [segment, ...rest] = segments
  if (value === undefined) return []
  if (segment === undefined) return typeof value === "string" ? [value, key] : [key]
  if (Array.isArray(value)) return /^(?:0|[1-9]\d{0,6})$/.test(segment) ? textsAt(value[Number(segment)], rest) : []
  if (!isObject(value)) return []
  const position = POSITION.exec(segment)?.[1]
  const name = position === undefined ? segment : Object.keys(value).sort()[Number(position)]
  const written = name !== undefined && PLAIN_KEY.test(name) === (position === undefined)
  return written && Object.hasOwn(value, name) ? textsAt(value[name], rest, name) : []
}
