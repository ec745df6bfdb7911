import { encode } from "uqr"
import type { CalloutBlock, Line } from "../block.ts"
import { wellFormed } from "../fonts/utf16.ts"
import type { Strip } from "../page/flow.ts"
import { passageStrips } from "../page/passage.ts"
import { at, colour, marked, number, type Pen, paint } from "../page/pen.ts"
import { INK, PAGE, type Style } from "../page/style.ts"
import { addNode, type StructureNode } from "../tags/structure.ts"
import type { Place } from "./bookmark-place.ts"
import { framed, ground, type Panel, panelIn, panelSpace, textIn } from "./panel.ts"

/** Between a panel and the code beside it: at least the quiet zone of four modules that a code needs (ISO/IEC 18004, 6.3.8). */
const CODE_GUTTER = 16

/** A panel, with the code at its right when it has one; a text that is too long for a code is only in the panel. */
export function calloutStrips(block: CalloutBlock, place: Place): Strip[] {
  const { style } = place
  const section = addNode(place.node, "Div")
  const code = block.code === undefined ? undefined : qrCode(block.code, style)
  if (code === undefined) return panelStrips(block, panelIn(style, block.tone), { ...place, node: section })
  const { x, width } = style.column
  const narrow = { x, width: width - code.size - CODE_GUTTER }
  const panel = panelStrips(block, panelIn(style, block.tone, narrow), { ...place, node: section })
  const figure = addNode(section, "Figure", { alternative: `QR code: ${block.code}` })
  return besides(panel, code.size, (pen, top) => code.draw(pen, figure, x + width - code.size, top))
}

function panelStrips(block: CalloutBlock, panel: Panel, { node, style }: Place): Strip[] {
  const title: Line = [{ text: block.title, tone: block.tone }]
  const passages = [
    { line: title, setting: style.settings.callout_title, keepWithNext: true },
    ...block.lines.map(line => ({ line, setting: style.settings.body, keepWithNext: false })),
  ]
  const strips = passages.flatMap(({ line, setting, keepWithNext }, index) => [
    ...(index === 0 ? [] : [panelSpace(panel, style.gaps.item, index === 1)]),
    ...passageStrips({
      line,
      setting,
      node: addNode(node, "P"),
      column: textIn(panel),
      keepWithNext,
      ground: ground(panel),
    }),
  ])
  return framed(panel, strips, style.gaps.block + 3)
}

/** Strips with a drawing beside them: as many strips as the drawing is high stay on its page. */
function besides(strips: readonly Strip[], size: number, drawBeside: Strip["draw"]): Strip[] {
  let height = 0
  const grouped = strips.map((strip, index): Strip => {
    const keepWithNext = strip.keepWithNext || height < size
    height += strip.height + (index === 0 ? 0 : strip.gap)
    return { ...strip, keepWithNext: index < strips.length - 1 ? keepWithNext : height < size }
  })
  const [first, ...rest] = grouped
  if (first === undefined) return []
  const draw: Strip["draw"] = (pen, top) => {
    first.draw(pen, top)
    drawBeside(pen, top)
  }
  const left = size - height
  return [
    { ...first, draw },
    ...rest,
    ...(left > 0 ? [{ height: left, gap: 0, keepWithNext: false, draw: () => undefined }] : []),
  ]
}

/** What a code of the highest version holds at error correction M (ISO/IEC 18004, table 7), in bytes. */
const QR_MAX_BYTES = 2331

type QrCode = {
  /** Length of its side, in points. */
  readonly size: number
  readonly draw: (pen: Pen, figure: StructureNode, x: number, top: number) => void
}

/** The code that holds the text; undefined when no code can. */
function qrCode(content: string, { code: size }: Style): QrCode | undefined {
  const text = wellFormed(content)
  if (Buffer.byteLength(text) > QR_MAX_BYTES) return undefined
  const { data, size: modules } = encode(text, { ecc: "M", border: 0 })
  return {
    size,
    draw: (pen, figure, x, top) => {
      figure.box = [x, PAGE.height - top - size, x + size, PAGE.height - top]
      marked(pen, figure, () => drawModules(pen, data, size / modules, [x, top]))
    },
  }
}

/** Dark modules as one path, neighbours in a row as one rectangle. */
function drawModules(
  pen: Pen,
  rows: readonly (readonly boolean[])[],
  module: number,
  [x, top]: readonly [number, number],
): void {
  const rectangles: string[] = []
  for (const [row, cells] of rows.entries()) {
    for (let start = 0; start < cells.length; start++) {
      if (!cells[start]) continue
      let end = start + 1
      while (cells[end]) end++
      const corner = at(x + start * module, top + (row + 1) * module)
      rectangles.push(`${corner} ${number((end - start) * module)} ${number(module)} re`)
      start = end
    }
  }
  paint(pen, `${colour(INK.plain)} rg ${rectangles.join(" ")} f`)
}
