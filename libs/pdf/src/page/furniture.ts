import type { Report, Tone } from "../block.ts"
import { firstLine, type TextLine } from "../text/wrap.ts"
import { artifact, circle, type Pen, strokeLine } from "./pen.ts"
import { setLine } from "./set-line.ts"
import { HAIRLINE, INK, type Style } from "./style.ts"

const SIGN_RADIUS = 2.4
/** Room for the sign at the right end of the head. */
const SIGN: number = SIGN_RADIUS * 2 + 5
/** The head's right part may take this much of the width; the left part has what is left. */
const RIGHT_PART = 0.45
const NUMBER_WIDTH = 90
const GUTTER = 14

/** Draws the running head and foot of every page, with the page's number. */
export function furniture(report: Report, style: Style, pages: number): (pen: Pen) => void {
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
