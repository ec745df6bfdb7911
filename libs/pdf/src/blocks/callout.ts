import type { CalloutBlock, Line } from "../block.ts"
import type { Strip } from "../page/flow.ts"
import { passageStrips } from "../page/passage.ts"
import { addNode } from "../tags/structure.ts"
import type { Place } from "./bookmark-place.ts"
import { framed, ground, type Panel, panelIn, panelSpace, textIn } from "./panel.ts"
import { qrCode } from "./qr.ts"

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
