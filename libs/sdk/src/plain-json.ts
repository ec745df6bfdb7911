/** Arguments as JSON text: dates become strings, undefined members are left out, and anything else that is not JSON is refused. */
import { CanonicalizeError, canonicalize, type JsonValue, MAX_DEPTH } from "@runseal/canonical"
import { InvalidArgumentError } from "./client-errors.ts"

/**
 * The RFC 8785 text of an argument. A value that cannot be sent exactly is refused rather than rounded; the message begins with its
 * RFC 6901 JSON pointer.
 * @throws InvalidArgumentError
 */
export function jsonText(argument: unknown): string {
  try {
    return canonicalize(asJson(argument, "", 0))
  } catch (error) {
    if (error instanceof CanonicalizeError) throw refusal(error.path, error.message, error)
    throw error
  }
}

const refusal = (path: string, problem: string, cause?: unknown): InvalidArgumentError =>
  new InvalidArgumentError(`${path === "" ? "The argument" : path} cannot be sent: ${problem}`, { cause })

function asJson(value: unknown, path: string, depth: number): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value
  if (typeof value === "number") return Object.is(value, -0) ? 0 : value
  if (typeof value !== "object") throw refusal(path, `A value of type ${typeof value} has no JSON form.`)
  if (depth === MAX_DEPTH) throw refusal(path, `The value is nested more than ${MAX_DEPTH} levels deep.`)
  const within = (key: string | number): string => `${path}/${`${key}`.replaceAll("~", "~0").replaceAll("/", "~1")}`
  if (Array.isArray(value)) return Array.from(value, (item, at) => asJson(item, within(at), depth + 1))
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw refusal(path, "It is an invalid date.")
    return value.toISOString()
  }
  if (!isPlain(value)) throw refusal(path, "An object is not plain data.")
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name, asJson(member, within(name), depth + 1)]))
}

/** Whether an object has string keys and no class, so that a copy of its members loses nothing. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && Object.getOwnPropertySymbols(value).length === 0
}
