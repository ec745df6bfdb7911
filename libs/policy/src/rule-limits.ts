/** The numbers that a condition compares attributes with, for a reader who is shown why the rule decided. */
import { contextPath } from "./context-reads.ts"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Cedar's comparisons of numbers: as an operator of whole numbers, and as a call of decimals. */
const SIGNS: Readonly<Record<string, string>> = {
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
  lessThan: "<",
  lessThanOrEqual: "<=",
  greaterThan: ">",
  greaterThanOrEqual: ">=",
}
const TURNED: Readonly<Record<string, string>> = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" }

/** The operands of a comparison, as Cedar's JSON has them. */
const sidesOf = (operands: unknown): readonly unknown[] =>
  Array.isArray(operands) ? operands : isRecord(operands) ? [operands["left"], operands["right"]] : []

/** A number that the rule writes; undefined for any other expression. */
function writtenNumber(expression: unknown): string | undefined {
  if (!isRecord(expression)) return undefined
  const { Value: value, decimal } = expression
  if (typeof value === "number") return `${value}`
  const text: unknown = Array.isArray(decimal) && isRecord(decimal[0]) ? decimal[0]["Value"] : undefined
  return typeof text === "string" ? text : undefined
}

/**
 * What a condition compares attributes with, as `< 2` by `declared.approver_count`. Of an attribute that it compares with several numbers
 * none is named: which of them decided does not follow from the form.
 */
export function limitsOf(conditions: unknown): ReadonlyMap<string, string> {
  const found = new Map<string, Set<string>>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item)
    if (!isRecord(value)) return
    for (const [operator, operands] of Object.entries(value)) {
      const sign = Object.hasOwn(SIGNS, operator) ? SIGNS[operator] : undefined
      const [left, right] = sidesOf(operands)
      if (sign !== undefined) note(sign, left, right)
      visit(operands)
    }
  }
  const note = (sign: string, left: unknown, right: unknown): void => {
    const isTurned = contextPath(left) === undefined
    const path = contextPath(isTurned ? right : left)?.join(".")
    const number = writtenNumber(isTurned ? left : right)
    if (path === undefined || number === undefined) return
    found.set(path, (found.get(path) ?? new Set()).add(`${isTurned ? TURNED[sign] : sign} ${number}`))
  }
  visit(conditions)
  return new Map([...found].flatMap(([path, all]) => (all.size === 1 ? [[path, [...all].join("")] as const] : [])))
}
