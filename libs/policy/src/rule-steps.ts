/**
 * How long the rules of a policy take at most, in steps: the nodes of their conditions, however the request is and whatever machine judges
 * it. Every run waits for its decision, so a policy beyond the bound is refused when it is loaded. Decision 0240.
 */
import { contextPath } from "./context-reads.ts"
import { PolicyError } from "./policy-document.ts"

/** Most steps of all rules together: some hundred comparisons, or a list of some thousand values. */
export const MAX_STEPS = 4096
/** Of an attribute of the context, however deep it is. */
const ATTRIBUTE_STEPS = 2
/** Of an operation whose time grows with a text or a set that the caller declares, which may be as large as a body. */
const LONG_STEPS = 128

/** Members of the context whose length callers choose: texts under `attested`, and sets. */
const TEXTS = "attested"
const SETS: readonly string[] = ["data_labels", "effect_kinds", "approver_ids", "breached_thresholds"]

type Counted = { readonly id: string; readonly policy: { readonly conditions: readonly unknown[] } }

/** @throws PolicyError that names the rule with the most steps, for rules that have too many together */
export function boundSteps(rules: readonly Counted[]): void {
  const counts = rules.map(({ id, policy }) => ({ id, steps: stepsIn(policy.conditions) }))
  const total = counts.reduce((sum, { steps }) => sum + steps, 0)
  if (total <= MAX_STEPS) return
  const { id, steps } = counts.reduce((most, next) => (next.steps > most.steps ? next : most))
  throw new PolicyError(
    `The rules take ${total} steps together for each run, and at most ${MAX_STEPS} are allowed: shorten them, first rule "${id}" with ${steps}.`,
  )
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The steps of a condition as Cedar's JSON has it, where each node is an object `{operator: operands}`. */
function stepsIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + stepsIn(item), 0)
  if (!isRecord(value)) return 0
  if (contextPath(value) !== undefined) return ATTRIBUTE_STEPS
  return Object.entries(value).reduce(
    (sum, [operator, operands]) => sum + stepsIn(operands) + (isLong(operator, operands) ? LONG_STEPS : 0),
    1,
  )
}

function isLong(operator: string, operands: unknown): boolean {
  if (!isRecord(operands)) return false
  const { left, right } = operands
  if (operator === "like") return reads(left, [TEXTS])
  const comparesSets = ["containsAll", "containsAny", "==", "!="].includes(operator)
  return comparesSets && reads(left, SETS) && reads(right, SETS)
}

/** Whether a value reads one of these members. */
function reads(value: unknown, members: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some(item => reads(item, members))
  if (!isRecord(value)) return false
  return Object.values(value).some(item => (typeof item === "string" ? members.includes(item) : reads(item, members)))
}
