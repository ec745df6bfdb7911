import { askTool } from "./pdf-tools.ts"

/** A word that poppler finds, with its box; points from the page's left and top edge. */
export type WordBox = {
  readonly page: number
  readonly text: string
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

export function wordsIn(pdf: Uint8Array): WordBox[] {
  const { text } = askTool("pdftotext", pdf, "-bbox", "FILE", "-")
  return text.split("<page ").flatMap((part, page) =>
    [...part.matchAll(/<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*?)<\/word>/g)].map(
      ([, left, top, right, bottom, word = ""]) => ({
        page,
        text: word,
        left: Number(left),
        top: Number(top),
        right: Number(right),
        bottom: Number(bottom),
      }),
    ),
  )
}

/** Pairs of words whose letters meet: boxes are as high as a font's highest letter, so their middle halves are compared. */
export function overlapsIn(words: readonly WordBox[]): string[] {
  const inner = words.map(word => {
    const quarter = (word.bottom - word.top) / 4
    return {
      ...word,
      left: word.left + 0.5,
      right: word.right - 0.5,
      top: word.top + quarter,
      bottom: word.bottom - quarter,
    }
  })
  return inner.flatMap((one, index) =>
    inner
      .slice(index + 1)
      .filter(
        other =>
          one.page === other.page &&
          one.left < other.right &&
          other.left < one.right &&
          one.top < other.bottom &&
          other.top < one.bottom,
      )
      .map(other => `${one.text} / ${other.text}`),
  )
}
