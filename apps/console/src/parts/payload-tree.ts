/** The tree of a payload's members as markup, for those who approve it. */
import type { ShownAct } from "@runseal/core/artifacts/act-section"
import { type PayloadMember, payloadMembers } from "@runseal/core/presentation/payload-members"
import { everyCharacter } from "./characters.ts"
import { html, type Markup } from "./markup.ts"

type ActValue = ShownAct["values"][number]

export type PayloadTree = {
  readonly markup: Markup
  /** Members and items that hold a value, none or an empty list included. */
  readonly members: number
  /** Those of them that no name of the act reads. */
  readonly unread: number
}

/** @returns undefined for a payload that is not read as JSON: it is shown as a text, so that a member that is there twice is seen */
export function payloadTree(payload: string, values: readonly ActValue[]): PayloadTree | undefined {
  const read = payloadMembers(payload, values)
  if (read === undefined) return undefined
  const { root, members, unread } = read
  return { markup: html`<ul class="members">${memberMarkup(root)}</ul>`, members, unread }
}

function memberMarkup({ name, value, inner, readBy }: PayloadMember): Markup {
  // A payload may be a list of some ten thousand numbers: each is one template.
  if (readBy.length === 0 && typeof name === "number" && "word" in value)
    return html`<li><span class="quiet">${name}:</span> <code>${value.word}</code></li>`
  const isAscii = readBy.some(({ type }) => type === "ascii")
  const items = inner.map(memberMarkup)
  return html`<li>${nameOf(name)}${shownOf(value, inner.length, isAscii)}${readBy.map(marked)}${items.length === 0 ? "" : html`<ul>${items}</ul>`}</li>`
}

const nameOf = (name: string | number | undefined): Markup | string =>
  name === undefined
    ? ""
    : typeof name === "number"
      ? html`<span class="quiet">${name}:</span> `
      : html`<span class="key">${name === "" ? '""' : everyCharacter(name)}</span>: `

/** Texts are in quotes, so that the text `true` is not taken for the word. */
function shownOf(value: PayloadMember["value"], length: number, isAscii: boolean): Markup {
  if ("text" in value) return html`<code class="text">"${everyCharacter(value.text, isAscii)}"</code>`
  if ("word" in value) return html`<code>${value.word}</code>`
  const isList = value.holds === "items"
  return length > 0
    ? html`<span class="quiet">${isList ? `list of ${length}` : ""}</span>`
    : html`<code>${isList ? "[ ]" : "{ }"}</code>`
}

const marked = ({ name }: ActValue): Markup => html` <span class="label info">${name}</span>`
