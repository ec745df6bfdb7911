/**
 * Act tables: which members of a payload a policy reads, on which routes. Their author is the operator, who is trusted with the decision
 * and makes mistakes: every doubt is refused when a policy is loaded. docs/policy-and-review.md, "Act tables".
 */
import * as v from "valibot"
import { ROUTE_ID_MAX_LENGTH } from "../vocabulary/scalars.ts"
import { DECIMAL_PATTERN, decimalUnits } from "./decimal-text.ts"

/** Tables of one policy, and names of one table. */
export const MAX_ACT_TABLES = 64
export const MAX_ACT_NAMES = 64
/** Routes of one table; objects that one table closes; members that it ignores. */
const MAX_ROUTES = 64
const MAX_PLACES = 128
/** Code units and steps of one pointer. */
const MAX_POINTER_LENGTH = 512
const MAX_POINTER_STEPS = 16

/** The types that a value of an act can have. `sum` and `max` are of the decimals at a pointer with `*`. */
export const ACT_TYPES = ["ascii", "string", "integer", "decimal", "boolean", "strings", "sum", "max"] as const
export type ActType = (typeof ACT_TYPES)[number]

/** Code units of a name of a table or of a value. */
export const MAX_NAME_LENGTH = 32
/** Words that Cedar or JavaScript read otherwise than as a name. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...["true", "false", "if", "then", "else", "in", "is", "like", "has", "permit", "forbid", "when", "unless"],
  ...["principal", "action", "resource", "context", "constructor", "prototype"],
])
const NAME = new RegExp(`^[a-z][a-z0-9_]{0,${MAX_NAME_LENGTH - 1}}$`)
const nameSchema = v.pipe(
  v.string(),
  v.check(
    name => NAME.test(name) && !RESERVED_NAMES.has(name),
    `must be lowercase letters, digits and underscores, at most ${MAX_NAME_LENGTH}, a letter first, and no word of the language`,
  ),
  v.metadata({ pattern: NAME.source }),
)
/** A table's name is also an action in Cedar's schema, where runs without a table have the action `execute`. */
export const actNameSchema: v.GenericSchema<string> = v.pipe(
  nameSchema,
  v.check(name => name !== "execute", "must not be execute, which names the runs that no table speaks of"),
  v.metadata({ pattern: NAME.source, not: { const: "execute" } }),
)

/** RFC 6901, without the escapes that mean nothing and without the step `-`, which leads behind the end of an array. */
const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/
/** @returns the steps of a pointer */
export const stepsOf = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map(step => step.replaceAll("~1", "/").replaceAll("~0", "~"))
/** The step that goes over all items of an array. */
export const EVERY_ITEM = "*"
const everySteps = (pointer: string): number => stepsOf(pointer).filter(step => step === EVERY_ITEM).length

const pointerSchema = v.pipe(
  v.string(),
  v.maxLength(MAX_POINTER_LENGTH, `must have at most ${MAX_POINTER_LENGTH} characters`),
  v.check(text => POINTER.test(text), "must be a JSON pointer, as /arguments/amount"),
  v.check(text => stepsOf(text).length <= MAX_POINTER_STEPS, `must have at most ${MAX_POINTER_STEPS} steps`),
  v.check(text => !stepsOf(text).includes("-"), "must not have the step -"),
  v.check(text => everySteps(text) <= 1, "must have the step * at most once"),
  v.metadata({
    pattern: POINTER.source,
    description: `A JSON pointer (RFC 6901) of at most ${MAX_POINTER_STEPS} steps, not "-"; one may be "*", every item of a list.`,
  }),
)

/** A bound as it is written for every type that has bounds: an integer or a decimal, as text. */
const boundSchema = v.pipe(
  v.string(),
  v.check(text => decimalUnits(text) !== undefined, 'must be a decimal text of at most four places, as "0.01"'),
  v.metadata({ pattern: DECIMAL_PATTERN }),
)
const BOUNDED: readonly ActType[] = ["integer", "decimal", "sum", "max"]
const CASED: readonly ActType[] = ["ascii", "strings"]
const FOLDED: readonly ActType[] = ["sum", "max"]

/** One name: where its value is in the payload, and what it must be. */
const actNameRowSchema = v.pipe(
  v.strictObject({
    at: v.pipe(
      pointerSchema,
      v.check(at => at !== "", "must lead into the payload"),
      v.metadata({ pattern: POINTER.source, minLength: 1 }),
    ),
    type: v.picklist(ACT_TYPES),
    /** Folds ASCII letters. The texts of `strings` are then of the type `ascii`. */
    case: v.exactOptional(v.picklist(["lower", "upper"])),
    min: v.exactOptional(boundSchema),
    max: v.exactOptional(boundSchema),
    /** A name without it must have a value in every payload. */
    optional: v.exactOptional(v.boolean()),
  }),
  v.check(row => row.case === undefined || CASED.includes(row.type), "only ascii and strings have a case"),
  v.check(
    row => (row.min === undefined && row.max === undefined) || BOUNDED.includes(row.type),
    "only integer, decimal, sum and max have bounds",
  ),
  v.check(
    ({ min, max }) => (decimalUnits(min ?? "") ?? 0n) <= (decimalUnits(max ?? "") ?? 1n << 80n) || min === undefined,
    "must not have a min above its max",
  ),
  v.check(
    ({ at, type }) => (everySteps(at) === 1 ? [...FOLDED, "strings"].includes(type) : !FOLDED.includes(type)),
    "sum and max need one step *, strings may have one, and no other type has it",
  ),
  v.description(
    "case: of ascii and strings alone. min, max: of integer, decimal, sum and max. The step *: once of sum and max, at most once of strings.",
  ),
)

/** A route id, or a prefix that ends in `/*`. */
const PREFIX_END = "/*"
const routeSchema = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(ROUTE_ID_MAX_LENGTH, `must have at most ${ROUTE_ID_MAX_LENGTH} characters`),
  v.check(
    route => !(route.endsWith(PREFIX_END) ? route.slice(0, -PREFIX_END.length) : route).includes(EVERY_ITEM),
    "must be a route, or a prefix that ends in /*",
  ),
  v.description("A route, or a prefix that ends in /*."),
)
const distinct = (values: readonly string[]): boolean => new Set(values).size === values.length
export const routesSchema = v.pipe(
  v.array(routeSchema),
  v.minLength(1, "must not be empty"),
  v.maxLength(MAX_ROUTES, `must have at most ${MAX_ROUTES} routes`),
  v.check(routes => distinct(routes), "must not repeat a route"),
  v.metadata({ uniqueItems: true }),
)
const placesSchema = v.pipe(
  v.array(pointerSchema),
  v.maxLength(MAX_PLACES, `must have at most ${MAX_PLACES} pointers`),
  v.check(pointers => distinct(pointers), "must not repeat a pointer"),
  v.metadata({ uniqueItems: true }),
)

export const actTableSchema = v.strictObject({
  name: actNameSchema,
  /** The routes whose payloads the table reads. */
  routes: routesSchema,
  /** Objects that have no member beside those that a name, a step of a pointer or `ignored` speaks of. */
  closed: v.exactOptional(placesSchema),
  /** Members of closed objects that no rule reads. */
  ignored: v.exactOptional(placesSchema),
  names: v.pipe(
    v.record(nameSchema, actNameRowSchema),
    v.check(names => Object.keys(names).length > 0, "must not be empty"),
    v.check(names => Object.keys(names).length <= MAX_ACT_NAMES, `must have at most ${MAX_ACT_NAMES} names`),
    v.metadata({ minProperties: 1, maxProperties: MAX_ACT_NAMES }),
  ),
})
export type ActTable = v.InferOutput<typeof actTableSchema>
export type ActRow = v.InferOutput<typeof actNameRowSchema>

/** Whether a route is one that `pattern`, a route or a prefix that ends in `/*`, names. */
export const isRouteOf = (pattern: string, route: string): boolean =>
  pattern.endsWith(PREFIX_END) ? route.startsWith(pattern.slice(0, -1)) : route === pattern

/**
 * The table that reads the payloads of a route: the one that names it exactly, else the one with the longest prefix. A policy with two of
 * the same does not load.
 */
export function tableOf(tables: readonly ActTable[], route: string): ActTable | undefined {
  const fitting = tables.flatMap(table =>
    table.routes.filter(pattern => isRouteOf(pattern, route)).map(pattern => ({ table, pattern })),
  )
  const exact = fitting.find(({ pattern }) => pattern === route && !pattern.endsWith(PREFIX_END))
  return (exact ?? fitting.toSorted((a, b) => b.pattern.length - a.pattern.length)[0])?.table
}
