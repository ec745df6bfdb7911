/** Which attributes of the context a condition reads. */
import { attributesOf, CONTEXT_ROWS, type ContextReads } from "@runseal/core/formulas/policy-context"

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

/** The paths that conditions read, or ask for with `has`, and that there are not. @param of whose acts count, and which one a rule reads */
export function unknownReads(conditions: unknown, of: Parameters<typeof attributesOf>[1]): readonly string[] {
  return [...(contextReads(conditions) ?? [])].filter(path => {
    const end = path.lastIndexOf(".")
    return !attributesOf(path.slice(0, end), of).includes(path.slice(end + 1))
  })
}

const GROUPS = "verified.end_user.groups"
/** The comparisons in which rules may read groups: with texts that they write. */
const GROUP_COMPARISONS = ["contains", "containsAny", "containsAll"]

/** The texts that an expression is: one, or a set of them; undefined for any other expression. */
function writtenTexts(expression: unknown): readonly string[] | undefined {
  if (!isRecord(expression)) return undefined
  const { Value: value, Set: items } = expression
  if (typeof value === "string") return [value]
  if (!Array.isArray(items)) return undefined
  const texts = items.map(item => (isRecord(item) ? item["Value"] : undefined))
  return texts.every(text => typeof text === "string") ? texts : undefined
}

/**
 * The groups that conditions compare an end user's with; none where they read no groups. Undefined where they read groups in any other way:
 * a record has the named groups alone, and a rule that counts the others would decide on less than it says.
 */
export function groupsNamed(conditions: unknown): readonly string[] | undefined {
  const named: string[] = []
  const visit = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.every(visit)
    if (!isRecord(value)) return true
    if (readsGroups(value)) return Object.hasOwn(value, "has")
    const [[operator, operands] = ["", undefined]] = Object.entries(value)
    if (GROUP_COMPARISONS.includes(operator) && isRecord(operands) && readsGroups(operands["left"])) {
      const texts = writtenTexts(operands["right"])
      named.push(...(texts ?? []))
      return texts !== undefined
    }
    return Object.values(value).every(visit)
  }
  return visit(conditions) ? named : undefined
}

const readsGroups = (expression: unknown): boolean => contextPath(expression)?.join(".") === GROUPS
