/** A payload as a tree of all its members, for those who approve it: nothing is cut, and what the values of the act do not cover is counted. */
import { type JsonTree, type NumberText, parseNumberTexts, StrictJsonError, textOfNumber } from "@runseal/canonical"
import { EVERY_ITEM, stepsOf } from "../act/act-table.ts"
import type { ShownAct } from "../artifacts/act-section.ts"

type Value = JsonTree<NumberText>
type ActValue = ShownAct["values"][number]

/** A member, an item, or the payload itself. */
export type PayloadMember = {
  /** Of a member; the number of an item; undefined for the payload itself. */
  readonly name: string | number | undefined
  /** A text; a number as it is written, or true, false or null; or what holds members or items. */
  readonly value: { readonly text: string } | { readonly word: string } | { readonly holds: "members" | "items" }
  readonly inner: readonly PayloadMember[]
  /** The values of the act that are read here. */
  readonly readBy: readonly ActValue[]
}

/** A payload with the number of its members. */
export type PayloadMembers = {
  readonly root: PayloadMember
  /** Members and items that hold a value, none or an empty list included. */
  readonly members: number
  /** Those of them that no name of the act reads. */
  readonly unread: number
}

/** A name of the act, on its way to the values that it reads. */
type Reading = { readonly value: ActValue; readonly steps: readonly string[] }
/** What was met so far. */
type Count = { members: number; unread: number }

/** @returns undefined for a payload that is not read as JSON: it is shown as a text, so that a member that is there twice is seen */
export function payloadMembers(payload: string, values: readonly ActValue[]): PayloadMembers | undefined {
  const tree = treeOf(payload)
  if (tree === undefined) return undefined
  const count: Count = { members: 0, unread: 0 }
  const readings = values.map(value => ({ value, steps: stepsOf(value.at) }))
  const root = member(undefined, tree, readings, count)
  return { root, ...count }
}

function treeOf(payload: string): Value | undefined {
  try {
    return parseNumberTexts(payload)
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

function member(
  name: string | number | undefined,
  value: Value,
  readings: readonly Reading[],
  count: Count,
): PayloadMember {
  const readBy = readings.filter(({ steps }) => steps.length === 0).map(reading => reading.value)
  const children = childrenOf(value)
  if (children === undefined || children.length === 0) {
    count.members++
    if (readBy.length === 0) count.unread++
  }
  const inner = (children ?? []).map(([step, child]) =>
    member(step, child, readingsOf(`${step}`, typeof step === "number", readings), count),
  )
  return { name, value: shownValue(value), inner, readBy }
}

/** The names that go on at a step. */
const readingsOf = (step: string, isItem: boolean, readings: readonly Reading[]): readonly Reading[] =>
  readings.flatMap(({ value, steps: [first, ...steps] }) =>
    first === undefined
      ? // A name that reads a whole list reads its items.
        value.type === "strings" && isItem
        ? [{ value, steps }]
        : []
      : first === step || (isItem && first === EVERY_ITEM)
        ? [{ value, steps }]
        : [],
  )

const isList = (value: Value): value is readonly Value[] => Array.isArray(value)

/** Members by name and items by number; undefined for a value that has none. */
function childrenOf(value: Value): readonly (readonly [string | number, Value])[] | undefined {
  if (isList(value)) return value.map((item, index) => [index, item] as const)
  return typeof value === "object" && value !== null && textOfNumber(value) === undefined
    ? Object.entries(value)
    : undefined
}

function shownValue(value: Value): PayloadMember["value"] {
  if (typeof value === "string") return { text: value }
  if (isList(value)) return { holds: "items" }
  if (typeof value !== "object" || value === null) return { word: `${value}` }
  const number = textOfNumber(value)
  return number === undefined ? { holds: "members" } : { word: number }
}
