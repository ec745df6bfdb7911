/**
 * Whether an attested field is present and meaningful. The gate that admits runs asks it, and every verifier asks it again, so the blank
 * characters are a fixed list: engines know different versions of Unicode. docs/formats.md section 3.8.
 */
import type { JsonValue } from "@runseal/canonical"
import type { AttestedField } from "./decision-codes.ts"
import { member } from "./json-members.ts"

/**
 * Code points, as first–last in hex, that show nothing by themselves: controls, white space, format characters, fillers, blank symbols,
 * variation selectors, and combining marks without a letter.
 */
const BLANK_RANGES =
  `0-20 7f-a0 ad-ad 300-36f 600-605 61c-61c 6dd-6dd 70f-70f 890-891 8e2-8e2 115f-1160 1680-1680 17b4-17b5
  180b-180f 1ab0-1aff 1dc0-1dff 2000-200f 2028-202f 205f-206f 20d0-20ff 2800-2800 3000-3000 3164-3164 fe00-fe0f fe20-fe2f feff-feff
  ffa0-ffa0 fff0-fffb fffe-ffff 110bd-110bd 110cd-110cd 13430-13442 16fe4-16fe4 1bca0-1bca3 1d159-1d159 1d173-1d17a e0000-e0fff`
    .split(/\s+/)
    .map(range => range.split("-").map(digits => Number.parseInt(digits, 16)))

/** Whether a code point shows something by itself. */
export const isVisible = (codePoint: number): boolean =>
  !BLANK_RANGES.some(([first = 0, last = 0]) => codePoint >= first && codePoint <= last)

/** Whether a text has a visible character. */
export const isMeaningful = (text: string): boolean => {
  for (const character of text) if (isVisible(character.codePointAt(0) ?? 0)) return true
  return false
}

/** `attested` must be true, a text must show something, a number is there or not. */
const isPresent = (value: JsonValue | undefined): boolean =>
  typeof value === "string" ? isMeaningful(value) : value === true || typeof value === "number"

/** The fields of a list that a declared `attested_context` lacks, in the order of the list. */
export const missingAttestedFields = (
  context: JsonValue | undefined,
  fields: readonly AttestedField[],
): readonly AttestedField[] => fields.filter(field => !isPresent(member(context, field)))
