/** A word that hides a mechanism, and the common words for it, which a reader would search for. */
export interface HiddenWord {
  readonly pattern: RegExp
  readonly instead: string
}

/** Whole words of a text. "In turn", "turn off" and "by hand" are plain; "the caller's turn" is a queue. */
const IN_PROSE: readonly HiddenWord[] = [
  { pattern: /\bpatience\b/i, instead: "timeout" },
  { pattern: /\bbells?\b/i, instead: "signal, notification" },
  { pattern: /\bask(?:s|ed|ing)? again\b/i, instead: "retry, poll" },
  {
    pattern: /(?<!\bin )\bturns?\b(?! (?:it |them )?(?:off|on|into|out|to|red|green)\b)/i,
    instead: "queue, lock, slot",
  },
  { pattern: /\blooks\b|\ba look\b/i, instead: "check, read, poll" },
  { pattern: /\bstands?\b|\bstood\b/i, instead: "is, is stored, appears, is in" },
  { pattern: /\bkept\b/i, instead: "stored, cached, retained, held" },
  { pattern: /\bnobody's\b/i, instead: "unowned, of no caller" },
  { pattern: /\bwhoever\b/i, instead: "a caller who, the operator, the party that" },
  { pattern: /\btold\b/i, instead: "reported, sent, shown" },
  { pattern: /\bsaid\b/i, instead: "reported, stated, declared" },
  { pattern: /\b(?:hands|handed|handing)\b/i, instead: "pass, send, return, give" },
  { pattern: /\bseat(?:s|ed)?\b/i, instead: "slot, position, entry" },
  { pattern: /\bplaced\b/i, instead: "put, added, numbered" },
  { pattern: /\bbegun\b/i, instead: "started" },
]

/** Words of a name in code, which are split at capitals: a name is a noun, or a verb for a function, and not a participle. */
const IN_NAMES: readonly HiddenWord[] = [
  {
    pattern:
      /(?<![.\w])(?:patience|bells?|rung|seat(?:s|ed)?|placed|begun|told|said|kept|handed|looks|stated|heard|meant)\b/i,
    instead: "the noun of what it holds",
  },
]

/** Hidden words in a text, each with its line and what to write instead. */
export const hiddenWords = (prose: string): readonly string[] => findings(prose, IN_PROSE)

/** Hidden words in the names of code; comments and strings have to be blank. */
export const hiddenNames = (code: string): readonly string[] =>
  findings(code.replace(/(?<=[a-z\d])(?=[A-Z])/g, " "), IN_NAMES)

const findings = (text: string, words: readonly HiddenWord[]): readonly string[] => {
  // Most texts hold none: they are not read line by line.
  const held = words.filter(({ pattern }) => pattern.test(text))
  if (held.length === 0) return []
  return text
    .split("\n")
    .flatMap((line, index) =>
      held.flatMap(({ pattern, instead }) =>
        (line.match(new RegExp(pattern, `${pattern.flags}g`)) ?? []).map(
          found => `${index + 1} "${found}": ${instead}`,
        ),
      ),
    )
}
