/** What was meant by a misspelt word. */

/** Letters that a misspelt word differs in; two that are exchanged count as both. */
const MAX_DISTANCE = 2

/** The word that is most like a misspelt one; undefined when none is like it. */
export function nearestWord(word: string, words: Iterable<string>): string | undefined {
  const near = [...words]
    .map(name => ({ name, letters: distance(word, name) }))
    .filter(({ name, letters }) => letters <= Math.min(MAX_DISTANCE, name.length - 2))
  return near.toSorted((one, two) => one.letters - two.letters)[0]?.name
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
