/**
 * Texts of a caller, shown so that nothing in them is hidden: who approves decides on what is there. A literal `U+202E` that a caller wrote
 * has no frame, so that it is not taken for the character.
 */
import { textPieces } from "@runseal/core/presentation/unseen-characters"
import { html, type Markup } from "./markup.ts"

/**
 * A text with each character that is not seen as `U+…`.
 * @param isAscii whether it should be ASCII alone: any other letter is then shown by its number too, because it may look like one of ASCII
 */
export const everyCharacter = (text: string, isAscii = false): Markup =>
  html`${textPieces(text, isAscii).map(piece => (piece.isNumbered ? html`<b class="char">${piece.text}</b>` : piece.text))}`

/** A text of several lines, such as a payload that is no JSON: its line ends are shown by their numbers, and end lines. */
export const everyLine = (text: string): Markup =>
  html`${text.split(/(?<=\n)/).map(line => html`${everyCharacter(line)}${line.endsWith("\n") ? html`<br>` : ""}`)}`
