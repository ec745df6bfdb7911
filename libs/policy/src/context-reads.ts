/** Which attributes of the context a condition reads. */
import { CONTEXT_ROWS, type ContextReads } from "@runseal/core/formulas/policy-context"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Records of the context, whose attributes a rule reads. */
const RECORDS: ReadonlySet<string> = new Set(["", "act", ...Object.keys(CONTEXT_ROWS)])

/** The names of an access: `has a.b` has two. */
const namesOf = (attr: unknown): readonly string[] =>
  (Array.isArray(attr) ? attr : [attr]).filter(name => typeof name === "string")

/**
 * The names of a chain of attributes that begins at the context, as `declared`, `attested`; undefined for any other expression.
 * @param expression as Cedar's JSON has it, where each node is an object `{operator: operands}`
 */
export function contextPath(expression: unknown): readonly string[] | undefined {
  if (!isRecord(expression)) return undefined
  if (expression["Var"] === "context") return []
  const access = expression["."] ?? expression["has"]
  if (!isRecord(access)) return undefined
  const left = contextPath(access["left"])
  return left !== undefined && RECORDS.has(left.join(".")) ? [...left, ...namesOf(access["attr"])] : undefined
}

/**
 * The paths that conditions read, as `act.amount`; of the record `declared.attested` also whether it is there. Undefined for conditions that
 * take a record whole, as a value to compare: what they read cannot be named.
 */
export function contextReads(conditions: unknown): ContextReads | undefined {
  const reads = new Set<string>()
  const visit = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.every(visit)
    if (!isRecord(value)) return true
    const path = contextPath(value)
    if (path === undefined) return Object.values(value).every(visit)
    if (RECORDS.has(path.join(".")) && !Object.hasOwn(value, "has")) return false
    // `a.b.c` asks for `a.b` first, which may be absent.
    for (let length = 2; length <= path.length; length++) reads.add(path.slice(0, length).join("."))
    return true
  }
  return visit(conditions) ? reads : undefined
}

/** The texts that conditions write, such as groups to compare with. */
export function textsIn(conditions: unknown): readonly string[] {
  if (Array.isArray(conditions)) return conditions.flatMap(textsIn)
  if (!isRecord(conditions)) return []
  const { Value: value } = conditions
  return typeof value === "string" ? [value] : Object.values(conditions).flatMap(textsIn)
}
