import type { Block, Report, Tone } from "./block.ts"
import { factsStrips } from "./blocks/facts.ts"
import { gaugeStrips } from "./blocks/gauge.ts"
import { calloutStrips, coverStrips } from "./blocks/panels.ts"
import { headingStrips, listStrips, paragraphStrips } from "./blocks/prose.ts"
import { tableStrips } from "./blocks/table-block.ts"
import { timelineStrips } from "./blocks/timeline-block.ts"
import { writeDocument } from "./file/pdf-document.ts"
import { documentFonts } from "./fonts/document-fonts.ts"
import { type Bookmark, flow, type Place, type Strip } from "./page/flow.ts"
import { artifact, circle, newPen, type Pen, strokeLine } from "./page/pen.ts"
import { setLine } from "./page/set-line.ts"
import { HAIRLINE, INK, STYLES, type Style } from "./page/style.ts"
import { rootNode } from "./tags/structure.ts"
import { firstLine, type TextLine } from "./text/wrap.ts"

/**
 * Draws a report as a tagged PDF that carries its evidence. Pure: the same report gives the same bytes in every process.
 * Any text is drawn: a character that no font has, or that is invisible, becomes a small labelled box.
 */
export async function drawReport(report: Report): Promise<Uint8Array> {
  const fonts = documentFonts()
  const root = rootNode()
  const outline: Bookmark[] = []
  const style = STYLES[report.density]
  const strips = report.blocks.flatMap((block, index) =>
    stripsOf(freeBeforeHeading(block, index, report.blocks), { node: root, outline, style }),
  )
  const pens: Pen[] = []
  flow(strips, style.area, () => {
    // A page that is full becomes one text: as thousands of pieces, the pages of a long report would fill the heap.
    const full = pens.at(-1)?.sheet.operators ?? []
    full.splice(0, full.length, full.join("\n"))
    const pen = newPen(pens.length, fonts)
    pens.push(pen)
    return pen
  })
  const drawOnEvery = furniture(report, style, pens.length)
  for (const pen of pens) drawOnEvery(pen)
  return writeDocument(report, { sheets: pens.map(({ sheet }) => sheet), fonts, root, outline })
}

/** A paragraph before a heading may end its page: the heading starts another part, unless it is below the paragraph's own. */
function freeBeforeHeading(block: Block, index: number, blocks: readonly Block[]): Block {
  const next = blocks[index + 1]
  if (block.kind !== "paragraph" || next?.kind !== "heading") return block
  const above = blocks.slice(0, index).findLast(({ kind }) => kind !== "paragraph")
  const opens = above?.kind === "heading" && above.level < next.level
  return opens ? block : { kind: "paragraph", line: block.line }
}

/** The strips that draw a block. Adds its nodes to the logical structure and its headings to the outline. */
function stripsOf(block: Block, place: Place): Strip[] {
  switch (block.kind) {
    case "cover":
      return coverStrips(block, place)
    case "heading":
      return headingStrips(block, place)
    case "paragraph":
      return paragraphStrips(block, place)
    case "list":
      return listStrips(block, place)
    case "callout":
      return calloutStrips(block, place)
    case "facts":
      return factsStrips(block, place)
    case "table":
      return tableStrips(block, place)
    case "timeline":
      return timelineStrips(block, place)
    case "gauge":
      return gaugeStrips(block, place)
  }
}

const SIGN_RADIUS = 2.4
/** Room for the sign at the right end of the head. */
const SIGN: number = SIGN_RADIUS * 2 + 5
/** The head's right part may take this much of the width; the left part has what is left. */
const RIGHT_PART = 0.45
const NUMBER_WIDTH = 90
const GUTTER = 14

/** Draws the running head and foot of every page, with the page's number. */
function furniture(report: Report, style: Style, pages: number): (pen: Pen) => void {
  const { running_head: head, running_foot: foot } = report
  const { width } = style.column
  const { running } = style.settings
  const right = firstLine([{ text: head.right, style: "bold", tone: head.tone }], running, width * RIGHT_PART)
  const room = width - right.width - SIGN - GUTTER
  const parts: Furniture = {
    left: firstLine([{ text: head.left }], running, room),
    right,
    foot: firstLine([{ text: foot }], running, width - NUMBER_WIDTH - GUTTER),
    tone: head.tone,
  }
  return pen => {
    const number = firstLine([{ text: `page ${pen.sheet.index + 1} of ${pages}` }], running, NUMBER_WIDTH)
    artifact(pen, () => drawFurniture(pen, style, parts, number), "Pagination")
  }
}

type Furniture = {
  readonly left: TextLine
  readonly right: TextLine
  readonly foot: TextLine
  readonly tone: Tone
}

function drawFurniture(pen: Pen, style: Style, { left, right, foot, tone }: Furniture, number: TextLine): void {
  const { x, width } = style.column
  const end = x + width
  setLine(pen, left, x, style.head)
  setLine(pen, right, end - SIGN - right.width, style.head)
  circle(pen, [end - SIGN_RADIUS, style.head + 5], SIGN_RADIUS, INK[tone], INK[tone], 0.1)
  strokeLine(pen, [x, style.head + 15], [end, style.head + 15], HAIRLINE, 0.6)
  strokeLine(pen, [x, style.foot - 6], [end, style.foot - 6], HAIRLINE, 0.6)
  setLine(pen, foot, x, style.foot)
  setLine(pen, number, end - number.width, style.foot)
}
