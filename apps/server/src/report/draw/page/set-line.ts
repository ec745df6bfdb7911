import { codeOf, useFont } from "../fonts/document-fonts.ts"
import { type Box, FRAME_MARGIN } from "../text/measure.ts"
import { advanceOf, type Glyph } from "../text/shape.ts"
import { utf16Hex } from "../text/utf16.ts"
import type { TextLine } from "../text/wrap.ts"
import { at, colour, number, type Pen, paint, strokeRectangle } from "./pen.ts"
import { INK, STAND_IN } from "./style.ts"

/** Where the baseline is below a line's top: capitals stand in the middle of the leading. */
export function baselineOf(line: Pick<TextLine, "leading" | "size">): number {
  return line.leading / 2 + line.size * 0.35
}

/** Sets a line with its left end at `x` and its top at `top`. */
export function setLine(pen: Pen, line: TextLine, x: number, top: number): void {
  const baseline = top + baselineOf(line)
  let run: { boxes: Box[]; x: number } | undefined
  const flush = (): void => {
    if (run !== undefined) setRun(pen, run.boxes, x + run.x, baseline)
    run = undefined
  }
  for (const { box, x: offset } of line.boxes) {
    if (box.standIn !== undefined) {
      flush()
      setStandIn(pen, box, line.size, x + offset, baseline)
    } else if (run !== undefined && sameLook(run.boxes[0], box)) run.boxes.push(box)
    else {
      flush()
      run = { boxes: [box], x: offset }
    }
  }
  flush()
}

function sameLook(left: Box | undefined, right: Box): boolean {
  return left?.item.face === right.item.face && left.size === right.size && left.item.tone === right.item.tone
}

/** Boxes of one look are one run of text, so that whoever reads the file finds a hash in one piece. */
function setRun(pen: Pen, boxes: readonly Box[], x: number, baseline: number): void {
  const [first] = boxes
  if (first === undefined) return
  const font = useFont(pen.fonts, first.item.face)
  pen.sheet.fonts.set(font.resource, font)
  const shown = showing(pen, boxes)
  const ink = colour(INK[first.item.tone])
  paint(pen, `BT ${ink} rg /${font.resource} ${number(first.size)} Tf 1 0 0 1 ${at(x, baseline)} Tm ${shown} ET`)
}

/** The operands of TJ: codes, and where a glyph is not where its predecessor's width would put it, the difference. */
function showing(pen: Pen, boxes: readonly Box[]): string {
  let operators = "["
  let codes = ""
  let rise = 0
  const move = (thousandths: number): void => {
    if (thousandths === 0) return
    operators += `${codes === "" ? "" : `<${codes}>`}${-thousandths}`
    codes = ""
  }
  for (const { item, shaped, size } of boxes) {
    const font = useFont(pen.fonts, item.face)
    for (const glyph of shaped.glyphs) {
      if (glyph.dy !== rise) {
        operators += `${codes === "" ? "" : `<${codes}>`}] TJ ${number((glyph.dy * size) / 1000)} Ts [`
        codes = ""
        rise = glyph.dy
      }
      move(glyph.dx)
      codes += codeOf(font, glyph.id, glyph.text).toString(16).padStart(4, "0")
      move(correction(item.face, glyph))
    }
  }
  const end = codes === "" ? "" : `<${codes}>`
  return `${operators}${end}] TJ${rise === 0 ? "" : " 0 Ts"}`
}

function correction(face: Box["item"]["face"], glyph: Glyph): number {
  return glyph.advance - advanceOf(face, glyph.id) - glyph.dx
}

function setStandIn(pen: Pen, box: Box, size: number, x: number, baseline: number): void {
  const actual = utf16Hex(box.standIn?.reads ?? "")
  const margin = size * FRAME_MARGIN
  paint(pen, `/Span <</ActualText <FEFF${actual}>>> BDC`)
  strokeRectangle(pen, [x + margin, baseline - size * 0.74, box.width - 2 * margin, size * 0.92], STAND_IN, 0.45)
  const label = { ...box.item, tone: "muted" } as const
  setRun(pen, [{ ...box, item: label }], x + (box.width - labelWidth(box)) / 2, baseline - size * 0.07)
  paint(pen, "EMC")
}

function labelWidth(box: Box): number {
  return (box.shaped.width * box.size) / 1000
}
