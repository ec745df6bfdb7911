/** The text of a document and its value, before anything says what it is. */
import type { JsonValue, KnownTexts } from "@runseal/canonical"
import { parseStrictJson, readCanonical } from "@runseal/canonical"

/** Why a document could not be verified at all: it is unreadable or none of ours (exit 2). */
export type Unreadable = {
  readonly unreadable: string
  /** Set when only this verifier cannot read it: it names rules that came later. */
  readonly newer?: true
}

/** Longest sentence on an unreadable document, in UTF-16 units: it may quote the document. */
const MAX_SENTENCE_LENGTH = 300

/** One printable line: text of a hostile document begins no new line in it and steers no terminal. */
export const unreadable = (sentence: string): Unreadable => ({
  unreadable: sentence.slice(0, MAX_SENTENCE_LENGTH).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd"),
})

/** A document's text and its value. */
export type ParsedText = {
  readonly value: JsonValue
  readonly mayHoldNul: boolean
  /** The texts of its parts, when the whole is canonical. */
  readonly known?: KnownTexts
}

/** Parses a document's text. @throws StrictJsonError */
export function parseDocument(input: string | Uint8Array): ParsedText {
  // Documents as services write them are canonical, and this is quicker to see than to parse strictly.
  const known = readCanonical(withoutLineEnd(input))
  if (known !== undefined) return { value: known.value, mayHoldNul: known.mayHoldNul, known }
  return { value: parseStrictJson(input), mayHoldNul: true }
}

const LINE_FEED = 0x0a

/** An editor may have added a line end when the document was saved. */
function withoutLineEnd(input: string | Uint8Array): string | Uint8Array {
  if (typeof input === "string") return input.endsWith("\n") ? input.slice(0, -1) : input
  return input.at(-1) === LINE_FEED ? input.subarray(0, -1) : input
}
