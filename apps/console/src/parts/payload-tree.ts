/** A payload as a tree of all its members, for those who approve it: nothing is cut, and what the values of the act do not cover is counted. */
import { type JsonTree, type NumberText, parseNumberTexts, StrictJsonError, textOfNumber } from "@runseal/canonical"
import { EVERY_ITEM, stepsOf } from "@runseal/core/act/act-table"
import type { ShownAct } from "@runseal/core/artifacts/act-section"
import { everyCharacter } from "./characters.ts"
import { html, type Markup } from "./markup.ts"

type Value = JsonTree<NumberText>
type ActValue = ShownAct["values"][number]

export type PayloadTree = {
  readonly markup: Markup
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
export function payloadTree(payload: string, values: readonly ActValue[]): PayloadTree | undefined {
  const tree = treeOf(payload)
  if (tree === undefined) return undefined
  const count: Count = { members: 0, unread: 0 }
  const readings = values.map(value => ({ value, steps: stepsOf(value.at) }))
  const markup = html`<ul class="members">${member(undefined, tree, readings, count)}</ul>`
  return { markup, ...count }
}

function treeOf(payload: string): Value | undefined {
  try {
    return parseNumberTexts(payload)
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined
    throw error
  }
}

/** @param name of a member, or number of an item; undefined for the payload itself */
function member(name: string | number | undefined, value: Value, readings: readonly Reading[], count: Count): Markup {
  const readBy = readings.filter(({ steps }) => steps.length === 0).map(reading => reading.value)
  const of = (step: string, isItem: boolean): readonly Reading[] =>
    readings.flatMap(({ value: one, steps: [first, ...steps] }) =>
      first === undefined
        ? // A name that reads a whole list reads its items.
          one.type === "strings" && isItem
          ? [{ value: one, steps }]
          : []
        : first === step || (isItem && first === EVERY_ITEM)
          ? [{ value: one, steps }]
          : [],
    )
  const inner = childrenOf(value)
  // A payload may be a list of some ten thousand numbers: each is one template.
  if (readBy.length === 0 && typeof name === "number" && inner === undefined && typeof value !== "string") {
    count.members++
    count.unread++
    return html`<li><span class="quiet">${name}:</span> <code>${wordOf(value)}</code></li>`
  }
  if (inner === undefined || inner.length === 0) {
    count.members++
    if (readBy.length === 0) count.unread++
  }
  const isAscii = readBy.some(({ type }) => type === "ascii")
  const shown = inner === undefined ? scalar(value, isAscii) : emptyOf(value, inner.length)
  const items = (inner ?? []).map(([step, child]) =>
    member(step, child, of(`${step}`, typeof step === "number"), count),
  )
  return html`<li>${nameOf(name)}${shown}${readBy.map(marked)}${items.length === 0 ? "" : html`<ul>${items}</ul>`}</li>`
}

const isList = (value: Value): value is readonly Value[] => Array.isArray(value)

/** Members by name and items by number; undefined for a value that has none. */
function childrenOf(value: Value): readonly (readonly [string | number, Value])[] | undefined {
  if (isList(value)) return value.map((item, index) => [index, item] as const)
  return typeof value === "object" && value !== null && textOfNumber(value) === undefined
    ? Object.entries(value)
    : undefined
}

const nameOf = (name: string | number | undefined): Markup | string =>
  name === undefined
    ? ""
    : typeof name === "number"
      ? html`<span class="quiet">${name}:</span> `
      : html`<span class="key">${name === "" ? '""' : everyCharacter(name)}</span>: `

const emptyOf = (value: Value, length: number): Markup | string =>
  length > 0
    ? html`<span class="quiet">${isList(value) ? `list of ${length}` : ""}</span>`
    : html`<code>${isList(value) ? "[ ]" : "{ }"}</code>`

/** Texts are in quotes, so that the text `true` is not taken for the word. */
const scalar = (value: Value, isAscii: boolean): Markup =>
  typeof value === "string"
    ? html`<code class="text">"${everyCharacter(value, isAscii)}"</code>`
    : html`<code>${wordOf(value)}</code>`

/** A number as it is written; true, false or null. */
const wordOf = (value: Value): string =>
  (typeof value === "object" && value !== null ? textOfNumber(value) : undefined) ?? `${value}`

const marked = ({ name }: ActValue): Markup => html` <span class="label info">${name}</span>`
