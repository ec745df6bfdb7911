/** Parsing that loses nothing: what a schema does not return was never checked, so it must not be there. */
import * as v from "valibot"
import { hasExactShape } from "./exact-shape.ts"
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
