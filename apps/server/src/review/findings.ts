/** What the rules count: matches of RE2 patterns, which are found in linear time. */
import { MAX_FINDINGS_PER_RULE } from "@runseal/core/vocabulary/review-codes"
import type { RE2JS } from "re2js"

/** One match: its text, its place, and the characters around it (empty at the ends of the text). */
export interface Found {
  readonly text: string
  readonly index: number
  readonly before: string
  readonly after: string
}

/** Matches of a pattern, in order. */
export function* matches(pattern: RE2JS, text: string): Generator<Found> {
  for (const { 0: found, index = 0 } of pattern.matchAll(text)) {
    const end = index + found.length
    yield { text: found, index, before: text.charAt(index - 1), after: text.charAt(end) }
  }
}

/** How many items of a sequence pass, up to `MAX_FINDINGS_PER_RULE`. */
export function countFindings<Item>(items: Iterable<Item>, passes: (item: Item) => boolean): number {
  let count = 0
  for (const item of items) {
    if (passes(item)) count += 1
    if (count === MAX_FINDINGS_PER_RULE) break
  }
  return count
}
