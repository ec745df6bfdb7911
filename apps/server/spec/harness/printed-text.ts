/** What a page prints, word by word, as its reader sees it in a real browser. */
import type { Page } from "playwright-core"

export type Print = {
  /** Words that are printed over one another. */
  readonly over: readonly string[]
  /** Words that are broken into two lines, as a reader sees them. */
  readonly broken: readonly string[]
}

/** Reads the texts in `main`. A word ends at a space or at one of the signs at which names are broken, and has at most 24 characters. */
export const printedIn = (page: Page): Promise<Print> =>
  page.evaluate(() => {
    type Box = { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number }
    const within = (box: Box, room: Box): Box => ({
      left: Math.max(box.left, room.left),
      top: Math.max(box.top, room.top),
      right: Math.min(box.right, room.right),
      bottom: Math.min(box.bottom, room.bottom),
    })
    const isSeen = ({ left, top, right, bottom }: Box): boolean => right - left > 1 && bottom - top > 1
    /** The part of a box that no element around it cuts off. */
    const seen = (box: Box, element: Element | null): Box => {
      if (element === null) return box
      const isCut = getComputedStyle(element).overflow !== "visible"
      return seen(isCut ? within(box, element.getBoundingClientRect()) : box, element.parentElement)
    }
    const texts = document.createTreeWalker(document.querySelector("main") ?? document.body, NodeFilter.SHOW_TEXT)
    const words: { readonly text: string; readonly boxes: readonly Box[] }[] = []
    while (texts.nextNode() !== null) {
      const { currentNode: node } = texts
      const { parentElement: element } = node
      if (element?.checkVisibility() !== true || element.closest(".unseen, option, title") !== null) continue
      for (const { 0: text, index } of (node.textContent ?? "").matchAll(/[^\s/_.:@-]{1,24}/g)) {
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + text.length)
        const boxes = [...range.getClientRects()].map(box => seen(box, element)).filter(isSeen)
        if (boxes.length > 0) words.push({ text, boxes })
      }
    }
    const isBroken = (boxes: readonly Box[]): boolean => new Set(boxes.map(({ top }) => Math.round(top))).size > 1
    // A word that is cut off with "…" has two boxes in one place.
    const areOver = (a: readonly Box[], b: readonly Box[]): boolean =>
      a.some(box => b.some(other => isSeen(within(box, other))))
    const over = words.flatMap(({ text, boxes }, i) =>
      words.slice(i + 1).flatMap(other => (areOver(boxes, other.boxes) ? [`${text} and ${other.text}`] : [])),
    )
    return { over, broken: words.flatMap(({ text, boxes }) => (isBroken(boxes) ? [text] : [])) }
  })
