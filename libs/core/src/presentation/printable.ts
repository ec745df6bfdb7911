/** Escapes and cuts text of a document: its author controls neither the terminal nor the length of a line. */

/** UTF-16 units shown of one piece of text. */
export const MAX_PIECE_LENGTH = 400

/** ASCII, dashes and quotes, arrows to dingbats: all safe, and faster to test than Unicode's properties. */
const PLAIN = /^[ -~\u2010-\u2027\u2190-\u27bf]*$/

/** Control, format (bidi overrides, zero-width), line-separator and surrogate characters: what can repaint or reorder a line. */
const escapeUnsafe = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, codePoint)

/** A character by its number, as `\u{…}`. */
export const codePoint = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** The text with every character that could act on a terminal or on the order of a line written as `\u{…}`. */
export const escapeControls = (text: string): string => (PLAIN.test(text) ? text : escapeUnsafe(text))

/** The text as one line of bounded length: a longer one is cut and ends with the number of units left out. */
export function printable(text: string): string {
  const more = text.length - MAX_PIECE_LENGTH
  return escapeControls(more > 0 ? `${text.slice(0, MAX_PIECE_LENGTH)}… (${more} more)` : text)
}
