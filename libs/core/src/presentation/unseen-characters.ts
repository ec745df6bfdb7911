/** Texts of a caller, cut where a character is not seen: who approves an act decides on what is there. */

/** What is not seen, or changes how the rest is shown: controls, format characters, blanks of other widths, what no font has. */
const UNSEEN = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}`
const HIDDEN = new RegExp(`((?:${UNSEEN})+)`, "u")
const HIDDEN_OR_FOREIGN = new RegExp(`((?:${UNSEEN}|[^\\0-\\x7f])+)`, "u")

/** A piece of a text: as it is, or its characters by their numbers, as `U+202E U+0041`. A reader has to see which it is. */
export type TextPiece = { readonly text: string; readonly isNumbered: boolean }

/** Characters by their numbers. */
const numbers = (text: string): string =>
  [...text].map(one => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ")

/**
 * The pieces of a text, one behind the other and none empty, with each character that is not seen by its number.
 * @param isAscii whether it should be ASCII alone: any other letter then has its number too, because it may look like one of ASCII
 */
export const textPieces = (text: string, isAscii = false): readonly TextPiece[] =>
  // With a group in the pattern, every second piece is what it found.
  text
    .split(isAscii ? HIDDEN_OR_FOREIGN : HIDDEN)
    .map((piece, index) =>
      index % 2 === 1 ? { text: numbers(piece), isNumbered: true } : { text: piece, isNumbered: false },
    )
    .filter(piece => piece.text !== "")
