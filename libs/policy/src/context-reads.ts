/** Which attributes of the context a condition reads. */
import { CONTEXT_ROWS, type ContextReads } from "@runseal/core/formulas/policy-context"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Records of the context, whose attributes a rule reads. */
const RECORDS: ReadonlySet<string> = new Set(["", "act", ...Object.keys(CONTEXT_ROWS)])

/** The path of a chain of attributes that begins at the context, as `declared.attested`; undefined for any other expression. */
function pathOf(expression: unknown): string | undefined {
  if (!isRecord(expression)) return undefined
  if (expression["Var"] === "context") return ""
  const access = expression["."] ?? expression["has"]
  if (!isRecord(access) || typeof access["attr"] !== "string") return undefined
  const left = pathOf(access["left"])
  if (left === undefined || !RECORDS.has(left)) return undefined
  return left === "" ? access["attr"] : `${left}.${access["attr"]}`
}

/**
 * The paths that conditions read, as `act.amount`; of the record `declared.attested` also whether it is there. Undefined for conditions that
 * take a record whole, as a value to compare: what they read cannot be named.
 * @param conditions as Cedar's JSON has them, where each node is an object `{operator: operands}`
 */
export function contextReads(conditions: unknown): ContextReads | undefined {
  const reads = new Set<string>()
  const visit = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.every(visit)
    if (!isRecord(value)) return true
    const path = pathOf(value)
    if (path === undefined) return Object.values(value).every(visit)
    if (RECORDS.has(path) && !Object.hasOwn(value, "has")) return false
    reads.add(path)
    // `a.b.c` asks for `a.b` first, which may be absent.
    const record = path.slice(0, path.lastIndexOf("."))
    if (record.includes(".")) reads.add(record)
    return true
  }
  return visit(conditions) ? reads : undefined
}
