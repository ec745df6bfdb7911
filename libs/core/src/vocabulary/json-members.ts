/** Reading own members of JSON values of unknown shape; an inherited member is never one. */
import type { JsonObject, JsonValue } from "@runseal/canonical"

export const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Own property of an object, else undefined; never an inherited one. */
export const member = (value: JsonValue | undefined, key: string): JsonValue | undefined =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** Own text property, else undefined. */
export function textMember(value: JsonValue | undefined, key: string): string | undefined {
  const found = member(value, key)
  return typeof found === "string" ? found : undefined
}

/** Whether two values have one canonical form: same types, same members in whatever order, same items in one order. */
export function isSameJson(one: JsonValue, other: JsonValue): boolean {
  if (one === other) return true
  if (Array.isArray(one))
    return (
      Array.isArray(other) && one.length === other.length && one.every((item, i) => isSameJson(item, other[i] ?? null))
    )
  if (!isObject(one) || !isObject(other)) return false
  const keys = Object.keys(one)
  return keys.length === Object.keys(other).length && keys.every(key => isSameMember(one, other, key))
}

/** Whether `other` has all members of `one` but that of the name, with the same values, and no others. */
export function isSameBut(one: JsonObject, other: JsonObject, name: string): boolean {
  const keys = Object.keys(other)
  return (
    keys.length === Object.keys(one).length - 1 &&
    !Object.hasOwn(other, name) &&
    keys.every(key => isSameMember(other, one, key))
  )
}

/** Whether `other` has the member of `one` of that name with the same value. What an object inherits is no scalar. */
function isSameMember(one: JsonObject, other: JsonObject, key: string): boolean {
  const value = one[key]
  const found = other[key]
  if (value === undefined || found === undefined) return false
  return value === found || (typeof value === "object" && Object.hasOwn(other, key) && isSameJson(value, found))
}

/**
 * Removes every object member that is null, at any depth, from a value that was just parsed: null for an optional member means that it
 * was not sent. In place, because the parser keeps objects with index-like keys small. Items of a list stay: their positions count.
 */
export function dropNullMembers(value: JsonValue): void {
  if (Array.isArray(value)) value.forEach(dropNullMembers)
  else if (isObject(value))
    for (const key of Object.keys(value)) {
      const found = value[key] ?? null
      if (found === null) Reflect.deleteProperty(value, key)
      else dropNullMembers(found)
    }
}
