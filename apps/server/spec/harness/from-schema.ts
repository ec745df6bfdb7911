/** Values made from JSON Schema: what fits, what nearly fits, and what somebody hostile would send. */
import { BASE64_PATTERN, encodeBase64 } from "@runseal/canonical"
import fc from "fast-check"
import { DOCUMENT } from "./described.ts"

type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly not?: object
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema | false>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | false
}

/** Longest text and list that is made: the rules are the same for longer ones, and the run stays short. */
const MAX_LENGTH = 24
const MAX_ITEMS = 3

/** A value that fits the schema, as far as JSON Schema says what fits. */
export function fitting(schema: Schema): fc.Arbitrary<unknown> {
  const { $ref } = schema
  if ($ref !== undefined) return fitting(DOCUMENT.components.schemas[$ref.slice("#/components/schemas/".length)] ?? {})
  if ("const" in schema) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const choices = (schema.anyOf ?? schema.oneOf)?.filter(choice => !fitsNothing(choice))
  if (choices !== undefined) {
    // Alternatives of an object add to what it says itself.
    const { anyOf: _any, oneOf: _one, ...own } = schema
    return fc.oneof(...choices.map(choice => fitting(merged(own, choice))))
  }
  switch (schema.type) {
    case "string":
      return text(schema)
    case "integer":
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 })
    case "number":
      // Strict JSON has no integers beyond 2^53 − 1, which most doubles are.
      return fc.double({ min: -1e12, max: 1e12, noNaN: true })
    case "null":
      return fc.constant(null)
    case "boolean":
      return fc.boolean()
    case "array":
      return fc.array(fitting(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(schema.minItems ?? 0, Math.min(schema.maxItems ?? MAX_ITEMS, MAX_ITEMS)),
      })
    case "object":
      return object(schema)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

/** Of a member that is named to be refused. */
const fitsNothing = ({ not }: Schema): boolean => not !== undefined && Object.keys(not).length === 0

const merged = (own: Schema, choice: Schema): Schema => ({
  ...own,
  ...choice,
  ...(own.properties && choice.properties ? { properties: membersOf(own.properties, choice.properties) } : {}),
  required: [...(own.required ?? []), ...(choice.required ?? [])],
})

type Members = NonNullable<Schema["properties"]>

/** The members of both: what an alternative says of one adds to what the object says of it. */
const membersOf = (own: Members, choice: Members): Members => ({
  ...own,
  ...Object.fromEntries(
    Object.entries(choice).map(([name, schema]) => [name, schema === false ? schema : { ...own[name], ...schema }]),
  ),
})

const LATEST = new Date("2099-12-31T23:59:59.999Z")

function text({ pattern, format, minLength = 0, maxLength = MAX_LENGTH }: Schema): fc.Arbitrary<string> {
  if (format === "date-time")
    return fc.date({ noInvalidDate: true, min: new Date(0), max: LATEST }).map(date => date.toISOString())
  if (pattern === BASE64_PATTERN.source) return base64(minLength)
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { size: "small" })
  return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, MAX_LENGTH)) })
}

/** Base64 of so many characters: of bytes that leave one place of padding, as 32 bytes do. */
const base64 = (characters: number): fc.Arbitrary<string> => {
  const bytes = Math.max(0, (characters / 4) * 3 - 1)
  return fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(encodeBase64)
}

function object({ properties = {}, required = [], additionalProperties }: Schema): fc.Arbitrary<object> {
  const entries = Object.entries(properties).flatMap(([name, schema]) =>
    schema === false || fitsNothing(schema) ? [] : [[name, fitting(schema)] as const],
  )
  const named = fc.record(Object.fromEntries(entries), {
    requiredKeys: required.filter(name => Object.hasOwn(properties, name)),
  })
  if (entries.length > 0) return named
  const others =
    additionalProperties === undefined || additionalProperties === false
      ? fc.jsonValue({ maxDepth: 2 })
      : fitting(additionalProperties)
  return fc.dictionary(fc.string({ maxLength: 8 }), others, { maxKeys: MAX_ITEMS })
}

/** Texts and values that have broken other services. */
export const HOSTILE: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      "",
      " ",
      "\u0000",
      "a\u0000b",
      "\ud800",
      "\udfff",
      "__proto__",
      "constructor",
      "toString",
      "null",
      "true",
      "-0",
      "1e400",
    ],
    ...[
      "' or '1'='1",
      "'; drop table run; --",
      "%",
      "../../etc/passwd",
      "{{7*7}}",
      "<script>alert(1)</script>",
      "\u202e",
    ],
    ...["9".repeat(400), "ü".repeat(600), "0".repeat(64), "A1".repeat(32), "a".repeat(70_000)],
    ...[null, true, -1, -0, 0.5, 2 ** 53, 2 ** 53 - 1, 1e308, 5e-324, [], {}, [[[[]]]], { "": "" }],
  ),
  fc.jsonValue({ maxDepth: 3 }),
)

/** A value with one thing wrong: a member less, a member more, or a hostile value somewhere. */
export const nearly = (values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(values, HOSTILE, fc.nat(), fc.constantFrom("replace", "drop", "add"), fc.string({ maxLength: 12 }))
    .map(([value, hostile, where, how, name]) => withOneWrong(value, hostile, where, how, name))

function withOneWrong(value: unknown, hostile: unknown, where: number, how: string, name: string): unknown {
  if (typeof value !== "object" || value === null) return hostile
  const keys = Object.keys(value)
  if (how === "add" || keys.length === 0)
    return Array.isArray(value) ? [...value, hostile] : { ...value, [name]: hostile }
  const key = keys[where % keys.length]!
  if (how === "drop") return Object.fromEntries(Object.entries(value).filter(([other]) => other !== key))
  const inner: unknown = Reflect.get(value, key)
  const deeper = typeof inner === "object" && inner !== null && where % 3 !== 0
  const changed = deeper ? withOneWrong(inner, hostile, Math.floor(where / keys.length), how, name) : hostile
  return Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed }
}
