/** What a user may have meant by an argument that names no file. Loaded only for one. */

/** Words that other programs have for what `verifier` does, and how it is done here. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  verify: "a document needs no command before it, as in verifier bundle.json",
  check: "a document needs no command before it, as in verifier bundle.json",
  validate: "a document needs no command before it, as in verifier bundle.json",
  audit: "did you mean verifier log audit?",
  schema: "did you mean verifier json-schema?",
  man: "did you mean verifier manual?",
  version: "did you mean verifier --version?",
}
/** Letters that a misspelt command differs in. */
const MAX_DISTANCE = 2

/** A hint for a word that is no file and may be meant as a command; undefined when it is like none. @param commands their names */
export function commandHint(word: string, commands: Iterable<string>): string | undefined {
  const other = Object.hasOwn(OTHER_WORDS, word) ? OTHER_WORDS[word] : undefined
  if (other !== undefined) return other
  const near = [...commands].find(name => distance(word, name) <= Math.min(MAX_DISTANCE, name.length - 2))
  return near === undefined ? undefined : `did you mean verifier ${near}?`
}

/** Letters added, left out or changed between two words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1]
    for (const [at, other] of [...b].entries()) {
      const changed = (row[at] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
