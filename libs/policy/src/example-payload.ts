/** A payload that an act table can read, for trying the rules of a policy before there are runs. */
import type { JsonValue } from "@runseal/canonical"
import { type ActRow, type ActTable, EVERY_ITEM, stepsOf } from "@runseal/core/act/act-table"
import { actReader, readAct } from "@runseal/core/act/read-act"

/** Code units of all texts together, and items of a list, of a payload that rules take long for. */
const LARGE_UNITS = 12_000
const LARGE_ITEMS = 64

/** A value of the payload: where it goes from here, and what it is in an item of a list. */
type Leaf = { readonly steps: readonly string[]; readonly valueOf: (item: number) => JsonValue }

/** @returns undefined where no payload was found that fits the table, as of two names of other types at one place */
export function examplePayload(table: ActTable, size: "small" | "large"): string | undefined {
  const rows = Object.values(table.names)
  const items = size === "large" ? LARGE_ITEMS : 1
  const units = size === "large" ? Math.floor(LARGE_UNITS / rows.length) : 8
  const leaves = rows.map(row => ({ steps: stepsOf(row.at), valueOf: exampleValue(row, units, items) }))
  const payload = JSON.stringify(built(leaves, items, 0))
  return readAct(actReader(table), payload).unreadable.length === 0 ? payload : undefined
}

const isListStep = (step: string): boolean => step === EVERY_ITEM || /^\d+$/.test(step)

function built(leaves: readonly Leaf[], items: number, item: number): JsonValue {
  const here = leaves.find(({ steps }) => steps.length === 0)
  if (here !== undefined) return here.valueOf(item)
  const steps = [...new Set(leaves.flatMap(leaf => leaf.steps.slice(0, 1)))]
  const behind = (...some: readonly string[]): readonly Leaf[] =>
    leaves
      .filter(leaf => some.some(step => step === leaf.steps[0]))
      .map(leaf => ({ ...leaf, steps: leaf.steps.slice(1) }))
  if (!steps.every(isListStep)) return Object.fromEntries(steps.map(step => [step, built(behind(step), items, item)]))
  const length = Math.max(...steps.map(step => (step === EVERY_ITEM ? items : Number(step) + 1)))
  return Array.from({ length }, (_, index) => {
    const found = behind(EVERY_ITEM, `${index}`)
    return found.length === 0 ? null : built(found, items, index)
  })
}

function exampleValue({ at, type, min, max }: ActRow, units: number, items: number): Leaf["valueOf"] {
  const number = min ?? max ?? "1.0"
  const text = (length: number) => "example".padEnd(Math.min(length, units), "-")
  const each = (item: number): string => `${item}`.padEnd(Math.floor(units / items), "-")
  switch (type) {
    case "ascii":
      return () => text(256)
    case "string":
      return () => text(1024)
    case "integer":
      return () => Math.ceil(Number(number))
    case "decimal":
    case "max":
      return () => number
    case "sum":
      return item => (item === 0 ? number : "0")
    case "boolean":
      return () => true
    case "strings":
      return stepsOf(at).includes(EVERY_ITEM) ? each : () => Array.from({ length: items }, (_, item) => each(item))
  }
}
