/**
 * Texts of a caller, shown so that nothing in them is hidden: who approves decides on what is there. A literal `U+202E` that a caller wrote
 * has no frame, so that it is not taken for the character.
 */
import { html, type Markup } from "./markup.ts"

/** What is not seen, or changes how the rest is shown: controls, format characters, blanks of other widths, what no font has. */
const UNSEEN = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}`
const HIDDEN = new RegExp(`((?:${UNSEEN})+)`, "u")
const HIDDEN_OR_FOREIGN = new RegExp(`((?:${UNSEEN}|[^\\0-\\x7f])+)`, "u")

/** Characters by their numbers, as `U+202E`. */
const numbers = (text: string): string =>
  [...text].map(one => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ")

/**
 * A text with each character that is not seen as `U+…`.
 * @param isAscii whether it should be ASCII alone: any other letter is then shown by its number too, because it may look like one of ASCII
 */
export function everyCharacter(text: string, isAscii = false): Markup {
  // With a group in the pattern, every second piece is what it found.
  const pieces = text.split(isAscii ? HIDDEN_OR_FOREIGN : HIDDEN)
  const shown = pieces.map((piece, index) => (index % 2 === 1 ? html`<b class="char">${numbers(piece)}</b>` : piece))
  return html`${shown}`
}

/** A text of several lines, such as a payload that is no JSON: its line ends are shown by their numbers, and end lines. */
export const everyLine = (text: string): Markup =>
  html`${text.split(/(?<=\n)/).map(line => html`${everyCharacter(line)}${line.endsWith("\n") ? html`<br>` : ""}`)}`
