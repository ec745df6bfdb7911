import type { TimelineBlock, Tone } from "../block.ts"
import type { Place, Strip } from "../page/flow.ts"
import { circle, marked, type Pen, type Point, polygon, strokeLine } from "../page/pen.ts"
import { heightOf } from "../page/row-strips.ts"
import { setLine } from "../page/set-line.ts"
import { type Column, HAIRLINE, INK, PAGE, RULE, type Style, WHITE } from "../page/style.ts"
import { addNode } from "../tags/structure.ts"
import { firstLines, type TextLine } from "../text/wrap.ts"

type Step = TimelineBlock["steps"][number]

/** Steps side by side; the drawing goes on in the next row. */
const STEPS_IN_ROW = 7
const STEP_GUTTER = 6
/** The line through the signs, from the row's top. */
const AXIS = 11
const TEXT_TOP = 23
const STAGE_RADIUS = 5.2
const GATE_RADIUS = 6.6
/** A code or label longer than this is cut, visibly: the row is one drawing on one page. */
const MAX_LINES = 4

const TONES: Readonly<Record<Step["state"], Tone>> = { passed: "good", stopped: "bad", not_reached: "muted" }

/** Stages as circles, gates as diamonds; filled when passed, crossed where the run stopped, hollow when not reached. */
export function timelineStrips(block: TimelineBlock, place: Place): Strip[] {
  const figure = addNode(place.node, "Figure", { alternative: block.alternative })
  const { column, gaps } = place.style
  const rows: Step[][] = []
  for (let at = 0; at < block.steps.length; at += STEPS_IN_ROW) rows.push(block.steps.slice(at, at + STEPS_IN_ROW))
  return rows.map((steps, row) => {
    const texts = steps.map(step => textsOf(step, place.style))
    const height = TEXT_TOP + Math.max(0, ...texts.map(heightOf)) + 6
    const continues = rows[row + 1] !== undefined
    return {
      height,
      gap: row === 0 ? gaps.block + 3 : 0,
      keepWithNext: continues,
      draw: (pen, top) => {
        figure.box ??= boxOf(column, top, height)
        marked(pen, figure, () => {
          drawAxis(pen, { column, steps, before: rows[row - 1]?.at(-1), continues }, top + AXIS)
          for (const [index, step] of steps.entries()) {
            drawStep(pen, step, texts[index] ?? [], [centre(column, index), top])
          }
        })
      },
    }
  })
}

/** A drawing's place on its page, from the lower left to the upper right corner. */
export function boxOf({ x, width }: Column, top: number, height: number): readonly [number, number, number, number] {
  return [x, PAGE.height - top - height, x + width, PAGE.height - top]
}

function textsOf(step: Step, { settings, column }: Style): TextLine[] {
  const tone = step.state === "passed" ? "plain" : TONES[step.state]
  const width = column.width / STEPS_IN_ROW - STEP_GUTTER
  return [
    ...firstLines([{ text: step.code, style: "mono", tone }], settings.step_code, width, MAX_LINES),
    ...firstLines([{ text: step.label }], settings.step_label, width, MAX_LINES),
  ]
}

function centre({ x, width }: Column, index: number): number {
  return x + ((index + 0.5) * width) / STEPS_IN_ROW
}

type Row = {
  readonly column: Column
  readonly steps: readonly Step[]
  /** The last step of the row before; undefined in the first. */
  readonly before: Step | undefined
  /** Whether another row follows. */
  readonly continues: boolean
}

function drawAxis(pen: Pen, { column, steps, before, continues }: Row, y: number): void {
  const point = (index: number): Point => [centre(column, index), y]
  if (before !== undefined) drawWay(pen, before, [column.x, y], point(0))
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1
    if (!isLast) drawWay(pen, step, point(index), point(index + 1))
    else if (continues) drawWay(pen, step, point(index), [column.x + column.width, y])
  }
}

/** The way on from a step. The run took it if it passed the step: a refused run can fail in its sealing without the steps between. */
function drawWay(pen: Pen, { state }: Step, from: Point, end: Point): void {
  const isTaken = state === "passed"
  strokeLine(pen, from, end, isTaken ? INK.good : HAIRLINE, isTaken ? 1.5 : 1)
}

function drawStep(pen: Pen, step: Step, texts: readonly TextLine[], [x, top]: Point): void {
  const point: Point = [x, top + AXIS]
  const ink = step.state === "not_reached" ? RULE : INK[TONES[step.state]]
  const fill = step.state === "not_reached" ? WHITE : ink
  if (step.kind === "stage") circle(pen, point, STAGE_RADIUS, fill, ink, 1)
  else polygon(pen, diamond(point), fill, ink, 1)
  if (step.state === "stopped") drawCross(pen, point)
  let y = top + TEXT_TOP
  for (const line of texts) {
    setLine(pen, line, x - line.width / 2, y)
    y += line.leading
  }
}

function diamond([x, y]: Point): Point[] {
  return [
    [x, y - GATE_RADIUS],
    [x + GATE_RADIUS, y],
    [x, y + GATE_RADIUS],
    [x - GATE_RADIUS, y],
  ]
}

function drawCross(pen: Pen, [x, y]: Point): void {
  const arm = 2.1
  strokeLine(pen, [x - arm, y - arm], [x + arm, y + arm], WHITE, 1.3)
  strokeLine(pen, [x - arm, y + arm], [x + arm, y - arm], WHITE, 1.3)
}
