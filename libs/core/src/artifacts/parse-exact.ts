/** Parsing that loses nothing: what a schema does not return was never checked, so it must not be there. */

import * as v from "valibot"
import { FOREIGN_KEY, issueText } from "./schema-issue.ts"

/** Only the first issue is reported, so that a document of a million mistakes does not cost a million issues. */
export const FIRST_ISSUE = { abortEarly: true } as const

/** The reason for a list where an object belongs. */
const NO_OBJECT = "must be an object"

/** A parsed document, or one sentence on where and why it has not the shape it must have. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string }

/**
 * As valibot's safeParse, and refuses what a strict object lets through: keys that every object inherits, such as `__proto__` or
 * `toString`, which it drops, and an empty list in the place of an object without required fields.
 */
export function parseExact<T>(schema: v.GenericSchema<unknown, T>, value: unknown): Parsed<T> {
  if (hasExactShape(schema, value)) return { ok: true, value }
  const parsed = v.safeParse(schema, value, FIRST_ISSUE)
  if (!parsed.success) return { ok: false, problem: issueText(parsed.issues[0]) }
  const problem = firstChange(value, parsed.output, "")
  return problem === undefined ? { ok: true, value: parsed.output } : { ok: false, problem }
}

/**
 * One sentence on the first key that is in the input and not in the output, or the first list that became an object. Parts that are the
 * same object in both are skipped.
 */
function firstChange(input: unknown, output: unknown, path: string): string | undefined {
  if (input === output || typeof input !== "object" || input === null) return undefined
  if (Array.isArray(input) !== Array.isArray(output)) return path === "" ? NO_OBJECT : `${path}: ${NO_OBJECT}`
  for (const key of Object.keys(input)) {
    const at = path === "" ? key : `${path}.${key}`
    if (typeof output !== "object" || output === null || !Object.hasOwn(output, key)) return `${at}: ${FOREIGN_KEY}`
    const problem = firstChange(Reflect.get(input, key), Reflect.get(output, key), at)
    if (problem !== undefined) return problem
  }
  return undefined
}

// Says quickly that a value has exactly a schema's shape. The schemas stay the one statement of every shape: what is read
// here is what they hold, and whatever is not known here is answered with "do not know", never with yes. A verifier of
// many documents asks this first and lets valibot, which copies and explains, judge only the rest.

/** True: valibot accepts the value and returns its equal. False: nothing is known. */
type Test = (value: unknown) => boolean

/** Schemas and actions of valibot as they describe themselves; their fields are read with `field`. */
type Described = { readonly kind: string; readonly type: string }

const UNKNOWN: Test = () => false

/** A cache of tests by schema: most members of a document share the same few schemas. It has one entry for each schema in the code. */
const tests = new WeakMap<object, Test>()

/** Whether `value`, plain data, has exactly the shape of `schema`: false says only that valibot has to judge. */
export const hasExactShape = <T>(schema: v.GenericSchema<unknown, T>, value: unknown): value is T =>
  testOf(schema)(value)

function testOf(schema: unknown): Test {
  if (!isDescribed(schema)) return UNKNOWN
  const known = tests.get(schema)
  if (known !== undefined) return known
  const pipe = field(schema, "pipe")
  const test = Array.isArray(pipe) ? pipeTest(testOf(pipe[0]), pipe.slice(1)) : bareTest(schema)
  tests.set(schema, test)
  return test
}

/** What a pipe begins with, which may be a pipe, then each of its actions; a transformation makes another value and is not known here. */
function pipeTest(bare: Test, actions: readonly unknown[]): Test {
  const checks = actions.filter(action => !(isDescribed(action) && action.kind === "metadata")).map(actionTest)
  const [only, ...more] = checks
  if (only === undefined) return bare
  if (more.length === 0) return value => bare(value) && only(value)
  return value => bare(value) && checks.every(check => check(value))
}

function bareTest(schema: Described): Test {
  switch (schema.type) {
    case "string":
      return value => typeof value === "string"
    case "number":
      return value => typeof value === "number" && !Number.isNaN(value)
    case "boolean":
      return value => typeof value === "boolean"
    case "literal":
      return literalTest(field(schema, "literal"))
    case "picklist":
      return picklistTest(field(schema, "options"))
    case "custom":
      return predicate(field(schema, "check"))
    case "array":
      return arrayTest(testOf(field(schema, "item")))
    case "record":
      return recordTest(testOf(field(schema, "key")), testOf(field(schema, "value")))
    case "union":
    case "variant":
      return anyTest(field(schema, "options"))
    case "strict_object":
      return objectTest(field(schema, "entries"))
    default:
      return UNKNOWN
  }
}

function actionTest(action: unknown): Test {
  if (!isDescribed(action)) return UNKNOWN
  const requirement = field(action, "requirement")
  switch (action.type) {
    case "regex":
      return requirement instanceof RegExp && !requirement.global && !requirement.sticky
        ? value => typeof value === "string" && requirement.test(value)
        : UNKNOWN
    case "check":
      return predicate(requirement)
    case "min_length":
      return typeof requirement === "number" ? value => lengthOf(value) >= requirement : UNKNOWN
    case "max_length":
      return typeof requirement === "number" ? value => lengthOf(value) <= requirement : UNKNOWN
    case "length":
      return typeof requirement === "number" ? value => lengthOf(value) === requirement : UNKNOWN
    case "safe_integer":
      return Number.isSafeInteger
    case "min_value":
      return typeof requirement === "number" ? value => typeof value === "number" && value >= requirement : UNKNOWN
    default:
      return UNKNOWN
  }
}

const literalTest =
  (literal: unknown): Test =>
  value =>
    value === literal

function picklistTest(options: unknown): Test {
  if (!Array.isArray(options)) return UNKNOWN
  const known: ReadonlySet<unknown> = new Set(options)
  return value => known.has(value)
}

/** A refinement of the schema's own: asked as it is. */
const predicate = (check: unknown): Test => (typeof check === "function" ? value => check(value) === true : UNKNOWN)

/** A list without keys beside its items. */
const arrayTest =
  (item: Test): Test =>
  value =>
    Array.isArray(value) && Object.keys(value).length === value.length && value.every(item)

/** Keys that valibot passes over in records. */
const NEVER_IN_RECORDS: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"])

const recordTest =
  (key: Test, member: Test): Test =>
  value =>
    isMembers(value) &&
    Object.keys(value).every(name => !NEVER_IN_RECORDS.has(name) && key(name) && member(value[name]))

function anyTest(options: unknown): Test {
  if (!Array.isArray(options)) return UNKNOWN
  const each = options.map(testOf)
  return value => each.some(option => option(value))
}

/**
 * Every required entry is present, every present entry is right, and there is no other member. JSON has no undefined, so it means
 * an absent member here; a member that is present and undefined makes the count below differ and is refused.
 */
function objectTest(entries: unknown): Test {
  if (!isMembers(entries)) return UNKNOWN
  // Of the many shapes a union offers, a document has one: the others' rows are never made.
  let rows: readonly Row[] | undefined
  return value => {
    rows ??= rowsOf(entries)
    if (!isMembers(value)) return false
    let found = 0
    for (const { name, optional, test } of rows) {
      const member = value[name]
      if (member === undefined) {
        if (!optional) return false
      } else {
        if (!test(member)) return false
        found++
      }
    }
    return Object.keys(value).length === found
  }
}

type Row = { readonly name: string; readonly optional: boolean; readonly test: Test }

const rowsOf = (entries: Members): readonly Row[] =>
  Object.keys(entries).map(name => {
    const entry = entries[name]
    if (!isDescribed(entry) || name in Object.prototype) return { name, optional: false, test: UNKNOWN }
    const optional = entry.type === "exact_optional" && field(entry, "default") === undefined
    return { name, optional, test: testOf(optional ? field(entry, "wrapped") : entry) }
  })

type Members = { readonly [name: string]: unknown }

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isDescribed = (value: unknown): value is Described =>
  isMembers(value) && typeof value.kind === "string" && typeof value.type === "string"

const field = (described: Described, name: string): unknown => Reflect.get(described, name)

const lengthOf = (value: unknown): number =>
  typeof value === "string" || Array.isArray(value) ? value.length : Number.NaN
