/** The difference of two texts, line by line: what changed, with some lines around it. */

type DiffLine = { readonly kind: "same" | "old" | "new"; readonly text: string }

/** Lines that belong together, and the number of the first in the new text. */
export type Hunk = { readonly line: number; readonly lines: readonly DiffLine[] }

/** Lines that are shown before and after a change. */
const AROUND = 3
/** Changed lines of a text that are compared; more are shown as replaced. */
const MAX_LINES = 1500

const sharedStart = (one: readonly string[], other: readonly string[]): number => {
  const end = one.findIndex((text, i) => text !== other[i])
  return end === -1 ? one.length : end
}

const same = (text: string): DiffLine => ({ kind: "same", text })

/** The fewest lines that change. */
function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")]
  const start = sharedStart(old, fresh)
  const [oldRest, freshRest] = [old.slice(start), fresh.slice(start)]
  const end = sharedStart(oldRest.toReversed(), freshRest.toReversed())
  const changed = changedLines(oldRest.slice(0, oldRest.length - end), freshRest.slice(0, freshRest.length - end))
  return [...old.slice(0, start).map(same), ...changed, ...oldRest.slice(oldRest.length - end).map(same)]
}

/** The same of lines that have neither beginning nor end in common, by their longest common subsequence. */
function changedLines(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
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
      lines.push(same(was))
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

/** The changes of a text, each with the lines around it; those that are near each other are one. */
export function hunksOf(before: string, after: string): readonly Hunk[] {
  const lines = diffLines(before, after)
  const shown = new Set<number>()
  for (const [at, { kind }] of lines.entries())
    if (kind !== "same") for (let near = at - AROUND; near <= at + AROUND; near++) shown.add(near)
  const hunks: { readonly line: number; readonly lines: DiffLine[] }[] = []
  let line = 1
  for (const [at, each] of lines.entries()) {
    if (shown.has(at)) {
      if (!shown.has(at - 1) || at === 0) hunks.push({ line, lines: [] })
      hunks.at(-1)?.lines.push(each)
    }
    if (each.kind !== "old") line++
  }
  return hunks
}
