/** Any value JSON can carry (RFC 8259 §3); which of them we accept is decided by `canonicalize`. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject

/** A JSON object. "__proto__" is an ordinary key in it: read keys of unknown origin with `Object.hasOwn`. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** A JSON value whose numbers are read as `N`. */
export type JsonTree<N> = null | boolean | N | string | readonly JsonTree<N>[] | { readonly [key: string]: JsonTree<N> }

/** No member of a JSON object has this key: those are texts. */
const NUMBER_TEXT: unique symbol = Symbol("number text")

/** A number as its characters in a JSON text (RFC 8259 §6): readers of other languages may take `1e3` and `1000` for two values. */
export type NumberText = { readonly [NUMBER_TEXT]: string }
export const numberText = (text: string): NumberText => ({ [NUMBER_TEXT]: text })
/** @returns undefined for a value that is no number */
export function textOfNumber(value: JsonTree<NumberText>): string | undefined {
  const text = typeof value === "object" && value !== null && NUMBER_TEXT in value ? value[NUMBER_TEXT] : undefined
  return typeof text === "string" ? text : undefined
}

/** Deepest nesting that is read or written. A service that wraps a request before sealing it allows less in requests. */
export const MAX_DEPTH = 66

/** Adds an own member under any key: a plain assignment to "__proto__" would change the prototype instead. */
export function addMember<Value>(object: { [key: string]: Value }, key: string, value: Value): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
  } else object[key] = value
}

/** A value whose every member, at any depth, is read only. */
export type DeepReadonly<T> = { readonly [Key in keyof T]: ReadonlyMember<T[Key]> }
/** An object whose keys are any texts is read only by itself: its values may be of its own kind, without end. */
type ReadonlyMember<T> = T extends unknown ? (string extends keyof T ? Readonly<T> : DeepReadonly<T>) : never
