import type { Line, Report } from "../../block.ts"
import { firstLine } from "../text/wrap.ts"
import { artifact, circle, type Pen, strokeLine } from "./pen.ts"
import { setLine } from "./set-line.ts"
import { HAIRLINE, INK, MARGIN, PAGE, SETTINGS, TEXT_WIDTH } from "./style.ts"

const HEAD_TOP = 38
const FOOT_TOP: number = PAGE.height - 44
const SIGN_RADIUS = 2.4
/** The head's right part and the page number may take this much; the left parts have what is left. */
const RIGHT_WIDTH: number = TEXT_WIDTH * 0.45
const GUTTER = 14

/** What stands on every page: the run and its verdict on top, the page's number below. */
export function drawFurniture(pen: Pen, report: Report, pages: number): void {
  const { running_head: head, running_foot: foot } = report
  artifact(
    pen,
    () => {
      drawPair(pen, [{ text: head.left }], [{ text: head.right, style: "bold", tone: head.tone }], HEAD_TOP, true)
      strokeLine(pen, [MARGIN.left, HEAD_TOP + 15], [MARGIN.left + TEXT_WIDTH, HEAD_TOP + 15], HAIRLINE, 0.6)
      strokeLine(pen, [MARGIN.left, FOOT_TOP - 6], [MARGIN.left + TEXT_WIDTH, FOOT_TOP - 6], HAIRLINE, 0.6)
      const page = `page ${pen.sheet.index + 1} of ${pages}`
      drawPair(pen, [{ text: foot }], [{ text: page }], FOOT_TOP, false)
      const x = MARGIN.left + TEXT_WIDTH - SIGN_RADIUS
      circle(pen, [x, HEAD_TOP + 5], SIGN_RADIUS, INK[head.tone], INK[head.tone], 0.1)
    },
    "Pagination",
  )
}

function drawPair(pen: Pen, left: Line, right: Line, top: number, sign: boolean): void {
  const setting = SETTINGS.running
  const end = firstLine(right, setting, RIGHT_WIDTH)
  const room = sign ? SIGN_RADIUS * 2 + 5 : 0
  const start = firstLine(left, setting, TEXT_WIDTH - end.width - room - GUTTER)
  setLine(pen, start, MARGIN.left, top)
  setLine(pen, end, MARGIN.left + TEXT_WIDTH - room - end.width, top)
}
