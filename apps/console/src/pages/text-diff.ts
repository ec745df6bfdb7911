/** The difference of two texts, line by line. */

export type DiffLine = { readonly kind: "same" | "old" | "new"; readonly text: string }

/** Lines of a text that are compared; longer ones are shown as replaced. */
const MAX_LINES = 1500

/** The fewest lines that change, by their longest common subsequence. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")]
  if (old.length > MAX_LINES || fresh.length > MAX_LINES)
    return [
      ...old.map(text => ({ kind: "old", text }) as const),
      ...fresh.map(text => ({ kind: "new", text }) as const),
    ]
  const lengths = commonLengths(old, fresh)
  const width = fresh.length + 1
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < fresh.length) {
    const [was = "", is = ""] = [old[i], fresh[j]]
    if (i < old.length && j < fresh.length && was === is) {
      lines.push({ kind: "same", text: was })
      i++
      j++
    } else if (j >= fresh.length || (i < old.length && lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push({ kind: "old", text: was })
      i++
    } else {
      lines.push({ kind: "new", text: is })
      j++
    }
  }
  return lines
}

/** Lines that two texts have in common from each pair of places on. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint16Array {
  const width = fresh.length + 1
  const lengths = new Uint16Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        old[i] === fresh[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0)
  return lengths
}
