/** Creates elements from text: text of a document never becomes markup. */
import { printable } from "@runseal/core/presentation/printable"

/** A piece of a page. Text is escaped and cut as `printable` does. */
export type Piece = HTMLElement | string

type Tag = keyof HTMLElementTagNameMap

/** An element of a class (empty for none) with its pieces in it. */
export function element(tag: Tag, className: string, ...pieces: readonly Piece[]): HTMLElement {
  const made = document.createElement(tag)
  if (className !== "") made.className = className
  made.append(...pieces.map(piece => (typeof piece === "string" ? printable(piece) : piece)))
  return made
}

/** A heading with its pieces; nothing without pieces. */
export const section = (heading: string, ...under: readonly Piece[]): readonly Piece[] =>
  under.length === 0 ? [] : [element("h3", "", heading), ...under]

export const paragraphs = (texts: readonly string[]): readonly Piece[] => texts.map(text => element("p", "", text))

/** A list of sentences; nothing for none. */
export const list = (texts: readonly string[]): readonly Piece[] =>
  texts.length === 0 ? [] : [element("ul", "", ...texts.map(text => element("li", "", text)))]

export type Fact = { readonly label: string; readonly value: string; readonly detail?: string }

/** Labelled values; nothing for none. */
export function facts(rows: readonly Fact[]): readonly Piece[] {
  const cells = rows.flatMap(({ label, value, detail }) => [
    element("dt", "", label),
    element("dd", "value", value, ...(detail === undefined ? [] : [element("span", "quiet", detail)])),
  ])
  return cells.length === 0 ? [] : [element("dl", "", ...cells)]
}

/** The element of the page with this id. @throws Error when the page has none */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found
}

/** Replaces the content of an element; hides it when there is none. */
export function fill(target: HTMLElement, ...pieces: readonly Piece[]): void {
  target.replaceChildren(...pieces.map(piece => (typeof piece === "string" ? printable(piece) : piece)))
  target.hidden = pieces.length === 0
}
