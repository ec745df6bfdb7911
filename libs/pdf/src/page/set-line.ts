import { codeOf, type UsedFont, useFont } from "../fonts/document-fonts.ts"
import { advanceOf, type Shaped } from "../fonts/glyph.ts"
import { utf16Hex } from "../fonts/utf16.ts"
import { type Box, FRAME_MARGIN } from "../text/measure.ts"
import type { TextLine } from "../text/wrap.ts"
import { at, colour, number, type Pen, paint, strokeRectangle } from "./pen.ts"
import { INK, PLACEHOLDER } from "./style.ts"

/** Distance of the baseline from a line's top: capitals are in the middle of the leading. */
function baselineOf(line: Pick<TextLine, "leading" | "size">): number {
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
    if (box.placeholder !== undefined) {
      flush()
      setPlaceholder(pen, box, line.size, x + offset, baseline)
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

/** Boxes of one look are one run of text, so that a program that extracts text finds a hash in one piece. */
function setRun(pen: Pen, boxes: readonly Box[], x: number, baseline: number): void {
  const [first] = boxes
  if (first === undefined) return
  const font = useFont(pen.fonts, first.item.face)
  pen.sheet.fonts.set(font.resource, font)
  const shown = showing(font, boxes)
  const ink = colour(INK[first.item.tone])
  paint(pen, `BT ${ink} rg /${font.resource} ${number(first.size)} Tf 1 0 0 1 ${at(x, baseline)} Tm ${shown} ET`)
}

/** The operands of TJ: codes, and where a glyph is not where its predecessor's width would put it, the difference. */
function showing(font: UsedFont, boxes: readonly Box[]): string {
  let operands = ""
  let codes = ""
  const move = (thousandths: number): void => {
    if (thousandths === 0) return
    operands += `${codes === "" ? " " : `<${codes}>`}${-thousandths}`
    codes = ""
  }
  for (const { shaped } of boxes) {
    for (const part of codesOf(font, shaped)) {
      if (typeof part === "number") move(part)
      else codes += part
    }
  }
  return `[${operands}${codes === "" ? "" : `<${codes}>`}] TJ`
}

/** Hexadecimal codes, and moves between them in thousandths; made once for a word of a document. */
function codesOf(font: UsedFont, shaped: Shaped): readonly (string | number)[] {
  const known = font.words.get(shaped)
  if (known !== undefined) return known
  const { unitsPerEm } = font.face.tables
  const parts = shaped.glyphs.flatMap(({ id, text, advance, dx, dy }) => {
    const code = codeOf(font, { glyph: id, rise: Math.round((dy * unitsPerEm) / 1000), text })
    return [dx, code.toString(16).padStart(4, "0"), advance - advanceOf(font.face, id) - dx]
  })
  const written = parts.filter(part => part !== 0)
  font.words.set(shaped, written)
  return written
}

function setPlaceholder(pen: Pen, box: Box, size: number, x: number, baseline: number): void {
  const actual = utf16Hex(box.placeholder?.reads ?? "")
  const margin = size * FRAME_MARGIN
  paint(pen, `/Span <</ActualText <FEFF${actual}>>> BDC`)
  strokeRectangle(pen, [x + margin, baseline - size * 0.74, box.width - 2 * margin, size * 0.92], PLACEHOLDER, 0.45)
  const label = { ...box.item, tone: "muted" } as const
  setRun(pen, [{ ...box, item: label }], x, baseline - size * 0.07)
  paint(pen, "EMC")
}
