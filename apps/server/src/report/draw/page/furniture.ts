import type { Line, Report, Tone } from "../../block.ts"
import { firstLine, type TextLine } from "../text/wrap.ts"
import { artifact, circle, type Pen, strokeLine } from "./pen.ts"
import { setLine } from "./set-line.ts"
import { HAIRLINE, INK, MARGIN, PAGE, SETTINGS, TEXT_WIDTH } from "./style.ts"

const HEAD_TOP = 38
const FOOT_TOP: number = PAGE.height - 44
const SIGN_RADIUS = 2.4
/** The head's right part may take this much; the left part has what is left. */
const RIGHT_WIDTH: number = TEXT_WIDTH * 0.45
const NUMBER_WIDTH = 90
const GUTTER = 14

/** Draws what stands on every page: the run and its verdict on top, the page's number below. */
export function furniture(report: Report, pages: number): (pen: Pen) => void {
  const { running_head: head, running_foot: foot } = report
  const sign = SIGN_RADIUS * 2 + 5
  const top = pair([{ text: head.left }], [{ text: head.right, style: "bold", tone: head.tone }], sign)
  const bottom = firstLine([{ text: foot }], SETTINGS.running, TEXT_WIDTH - NUMBER_WIDTH - GUTTER)
  return pen =>
    artifact(
      pen,
      () => drawFurniture(pen, { top, bottom, sign, tone: head.tone }, `page ${pen.sheet.index + 1} of ${pages}`),
      "Pagination",
    )
}

type Furniture = {
  readonly top: { readonly left: TextLine; readonly right: TextLine }
  readonly bottom: TextLine
  /** Room for the sign at the right end of the head. */
  readonly sign: number
  readonly tone: Tone
}

function drawFurniture(pen: Pen, { top, bottom, sign, tone }: Furniture, page: string): void {
  const end = MARGIN.left + TEXT_WIDTH
  setLine(pen, top.left, MARGIN.left, HEAD_TOP)
  setLine(pen, top.right, end - sign - top.right.width, HEAD_TOP)
  circle(pen, [end - SIGN_RADIUS, HEAD_TOP + 5], SIGN_RADIUS, INK[tone], INK[tone], 0.1)
  strokeLine(pen, [MARGIN.left, HEAD_TOP + 15], [end, HEAD_TOP + 15], HAIRLINE, 0.6)
  strokeLine(pen, [MARGIN.left, FOOT_TOP - 6], [end, FOOT_TOP - 6], HAIRLINE, 0.6)
  const number = firstLine([{ text: page }], SETTINGS.running, NUMBER_WIDTH)
  setLine(pen, bottom, MARGIN.left, FOOT_TOP)
  setLine(pen, number, end - number.width, FOOT_TOP)
}

function pair(left: Line, right: Line, sign: number): Furniture["top"] {
  const end = firstLine(right, SETTINGS.running, RIGHT_WIDTH)
  return { left: firstLine(left, SETTINGS.running, TEXT_WIDTH - end.width - sign - GUTTER), right: end }
}
