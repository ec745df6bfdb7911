import type { Line } from "../block.ts"
import { visualOrder } from "./direction.ts"
import { type Item, itemsOf } from "./items.ts"
import { type Box, boxesOf, clustersOf, textBox } from "./measure.ts"
import type { Setting } from "./setting.ts"

/** One line of a passage: boxes from left to right with their positions; lengths in points. */
export type TextLine = {
  readonly boxes: readonly { readonly box: Box; readonly x: number }[]
  readonly width: number
  readonly leading: number
  /** The text's own size, whatever its faces. */
  readonly size: number
  readonly rightToLeft: boolean
}

/** A hash of 64 digits keeps its line as long as it can be set at this part of its size. */
const SMALLEST_HASH = 0.8
const HASH = /^(?:[0-9a-z]{1,12}:)?[0-9a-f]{64}$/
/** The same for a command, which is longer. */
const SMALLEST_COMMAND = 0.55
/** A hash that is too long for its column breaks after a multiple of so many digits. */
const HASH_PARTS = [32, 16, 8]
/** A word too long for its column preferably breaks after one of these, if it comes late enough in the line. */
const SOFT = /[/_.:,;=&?@|\\-]/
const AFTER_SOFT = /(?<=[/_.:,;=&?@|\\-])/
const SOFT_REACH = 0.5

/** Longer words are signatures and the like, which nobody reads as one; in UTF-16 units. */
const LONGEST_NAME = 40

type Wrapping = {
  readonly width: number
  readonly size: number
  readonly lines: Box[][]
  line: Box[]
  used: number
}

/** Breaks a passage into lines no wider than `width`. An empty passage is one empty line. */
export function wrap(line: Line, setting: Setting, width: number): TextLine[] {
  const starts = line.flatMap(({ newLine }, index) => (newLine && index > 0 ? [index] : []))
  return [0, ...starts].flatMap((start, index) => wrapPart(line.slice(start, starts[index]), setting, width))
}

/** Width of the longest word of a passage, which `wrap` breaks only in a narrower column. In points. */
export function longestWord(line: Line, setting: Setting): number {
  let longest = 0
  let width = 0
  for (const item of itemsOf(line, setting).items) {
    if (item.kind === "space") width = 0
    else width += widthOf(boxesOf(item, setting.size, Number.POSITIVE_INFINITY))
    longest = Math.max(longest, width)
    if (item.breakAfter || item.newline) width = 0
  }
  return longest
}

/** Whether a column of this width, in points, holds a passage without breaking a number or name where it cannot be broken well. */
export function holdsWords(line: Line, setting: Setting, width: number): boolean {
  if (longestWord(line, setting) <= width) return true
  return itemsOf(line, setting).items.every(item => {
    const widthOfText = (text: string): number => textBox(item, text, setting.size).width
    if (item.kind !== "word" || widthOfText(item.text) <= width) return true
    if (isHash(item)) return widthOfText(item.text.slice(0, HASH_PARTS[0])) <= width
    if (item.text.length > LONGEST_NAME) return true
    return item.text.split(AFTER_SOFT).every(piece => widthOfText(piece) <= width * SOFT_REACH)
  })
}

const isHash = ({ style, text }: Item): boolean => style === "mono" && HASH.test(text)

function wrapPart(line: Line, setting: Setting, width: number): TextLine[] {
  const { items, rightToLeft } = itemsOf(line, setting)
  const hashScale = scaleForHashes(items, setting.size, width)
  const wrapping: Wrapping = { width, size: setting.size, lines: [], line: [], used: 0 }
  let word: Box[] = []
  for (const item of items) {
    const size = item.style === "mono" ? setting.size * hashScale : setting.size
    if (item.kind === "space") {
      placeWord(wrapping, word)
      word = []
      placeSpace(wrapping, textBox(item, item.text, size))
      continue
    }
    word.push(...boxesOf(item, size, width))
    if (!item.breakAfter && !item.newline) continue
    placeWord(wrapping, word)
    word = []
    if (item.newline) endLine(wrapping)
  }
  placeWord(wrapping, word)
  if (wrapping.line.length > 0 || wrapping.lines.length === 0) endLine(wrapping)
  return wrapping.lines.map(boxes => textLine(boxes, setting, rightToLeft))
}

/** Cuts a passage to one line, with a visible sign of the cut. */
export function firstLine(line: Line, setting: Setting, width: number): TextLine {
  const [first] = firstLines(line, setting, width, 1)
  return first ?? { boxes: [], width: 0, ...lineOf(setting, false) }
}

/** Cuts a passage to so many lines, with a visible sign of the cut. */
export function firstLines(line: Line, setting: Setting, width: number, count: number): TextLine[] {
  const whole = wrap(line, setting, width)
  if (whole.length <= count) return whole
  const [sign] = wrap([{ text: " …" }], setting, width)
  const narrowed = wrap(line, setting, width - (sign?.width ?? 0)).slice(0, count)
  const last = narrowed.pop()
  if (last === undefined || sign === undefined) return narrowed
  const end = sign.boxes.map(({ box, x }) => ({ box, x: x + last.width }))
  return [...narrowed, { ...last, boxes: [...last.boxes, ...end], width: last.width + sign.width }]
}

function lineOf(setting: Setting, rightToLeft: boolean): Pick<TextLine, "leading" | "size" | "rightToLeft"> {
  return { leading: setting.leading, size: setting.size, rightToLeft }
}

function scaleForHashes(items: readonly Item[], size: number, width: number): number {
  let scale = 1
  for (const item of items) {
    if (!isHash(item) && !item.whole) continue
    const fits = width / textBox(item, item.text, size).width
    if (fits < scale && fits >= (item.whole ? SMALLEST_COMMAND : SMALLEST_HASH)) scale = fits - 0.001
  }
  return scale
}

function widthOf(boxes: readonly Box[]): number {
  let width = 0
  for (const box of boxes) width += box.width
  return width
}

function endLine(wrapping: Wrapping): void {
  wrapping.lines.push(wrapping.line)
  wrapping.line = []
  wrapping.used = 0
}

function place(wrapping: Wrapping, box: Box): void {
  wrapping.line.push(box)
  wrapping.used += box.width
}

/** A space that does not fit is what the line ends with: it hangs over the edge, without ink. */
function placeSpace(wrapping: Wrapping, space: Box): void {
  const fits = wrapping.used + space.width <= wrapping.width
  place(wrapping, space)
  if (!fits) endLine(wrapping)
}

function placeWord(wrapping: Wrapping, word: readonly Box[]): void {
  if (word.length === 0) return
  const width = widthOf(word)
  if (wrapping.used + width > wrapping.width && wrapping.used > 0) endLine(wrapping)
  if (width <= wrapping.width) {
    for (const box of word) place(wrapping, box)
    return
  }
  for (const box of word) placeAnywhere(wrapping, box)
}

function placeAnywhere(wrapping: Wrapping, box: Box): void {
  if (wrapping.used + box.width > wrapping.width && wrapping.used > 0) endLine(wrapping)
  if (box.width <= wrapping.width || box.placeholder !== undefined) {
    place(wrapping, box)
    return
  }
  const parts = partsThatFit(box, wrapping)
  for (const [index, part] of parts.entries()) {
    if (index > 0) endLine(wrapping)
    place(wrapping, part)
  }
}

function partsThatFit(box: Box, { width, size }: Wrapping): Box[] {
  const { item } = box
  const unscaled = item.style === "mono" ? box.size / item.face.scale : size
  const clusters = clustersOf(item.text)
  const widths = clusters.map(cluster => textBox(item, cluster, unscaled).width)
  const parts: Box[] = []
  for (let start = 0; start < clusters.length; ) {
    let end = start
    for (let used = 0; end < clusters.length && used + (widths[end] ?? 0) <= width; end++) used += widths[end] ?? 0
    end = Math.max(betterBreak(clusters, start, end, item), start + 1)
    let part = textBox(item, clusters.slice(start, end).join(""), unscaled)
    while (part.width > width && end > start + 1) {
      end--
      part = textBox(item, clusters.slice(start, end).join(""), unscaled)
    }
    parts.push(part)
    start = end
  }
  return parts
}

function betterBreak(clusters: readonly string[], start: number, end: number, item: Item): number {
  if (end >= clusters.length) return end
  if (isHash(item)) {
    const digits = item.text.indexOf(":") + 1
    for (const part of HASH_PARTS) {
      const cut = digits + Math.floor((end - digits) / part) * part
      if (cut > start) return cut
    }
  }
  const earliest = start + Math.ceil((end - start) * SOFT_REACH)
  for (let at = end; at > earliest; at--) if (SOFT.test(clusters[at - 1] ?? "")) return at
  return end
}

function textLine(boxes: readonly Box[], setting: Setting, rightToLeft: boolean): TextLine {
  let last = boxes.length
  while (boxes[last - 1]?.item.kind === "space") last--
  const space = rightToLeft ? undefined : boxes[last]
  const ordered = visualOrder(boxes.slice(0, last).map(box => ({ box, level: box.item.level, part: box.item.part })))
  let x = 0
  const positioned = ordered.map(({ box }) => {
    const at = { box, x }
    x += box.width
    return at
  })
  // A program that extracts line after line needs the space between their words; it does not count in the line's width.
  if (space !== undefined) positioned.push({ box: space, x })
  return { boxes: positioned, width: x, ...lineOf(setting, rightToLeft) }
}
