/** Panels: boxes with a background and a bar in their tone. The cover of a report and its callouts are such. */
import { encode } from "uqr"
import type { CalloutBlock, CoverBlock, Line, Tone } from "../block.ts"
import { wellFormed } from "../fonts/utf16.ts"
import type { Place, Strip } from "../page/flow.ts"
import { passageStrips } from "../page/passage.ts"
import { artifact, at, colour, fillRectangle, marked, number, type Pen, paint } from "../page/pen.ts"
import { type Column, INK, PAGE, type Style, WASH } from "../page/style.ts"
import { addNode, type StructureNode } from "../tags/structure.ts"
import type { Setting } from "../text/setting.ts"
import { factsStrips } from "./facts.ts"

const PANEL_BAR = 3
/** A panel up to this height is not split. */
const WHOLE_PANEL: number = PAGE.height / 4

/** A box with a background in its tone and a bar at its left edge. */
type Panel = { readonly column: Column; readonly tone: Tone; readonly padding: number }

function panelIn(style: Style, tone: Tone, column: Column = style.column): Panel {
  return { column, tone, padding: style.panelPadding }
}

/** The column of text within a panel. */
function textIn({ column, padding }: Panel): Column {
  return { x: column.x + PANEL_BAR + padding, width: column.width - PANEL_BAR - 2 * padding }
}

/** Strips between the top and bottom of a panel, which begins `gap` points below the block before it. */
function framed(panel: Panel, strips: readonly Strip[], gap: number): Strip[] {
  const top = { ...panelSpace(panel, panel.padding - 3, true), gap }
  const height = strips.reduce((sum, strip) => sum + strip.height, 0)
  const whole = height <= WHOLE_PANEL
  const body = strips.map((strip, index) =>
    whole || index === strips.length - 1 ? { ...strip, keepWithNext: true } : strip,
  )
  return [top, ...body, panelSpace(panel, panel.padding - 2, false)]
}

/** Empty room in a panel. */
function panelSpace(panel: Panel, height: number, keepWithNext: boolean): Strip {
  return { height, gap: 0, keepWithNext, draw: (pen, top) => ground(panel)(pen, top, height) }
}

/** Draws the background of a panel behind one of its strips. */
function ground({ column: { x, width }, tone }: Panel): (pen: Pen, top: number, height: number) => void {
  return (pen, top, height) =>
    artifact(pen, () => {
      fillRectangle(pen, x, top, width, height, WASH[tone])
      fillRectangle(pen, x, top, PANEL_BAR, height, INK[tone])
    })
}

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

/** The outcome at a glance: a panel in the verdict's tone, then the facts that identify the run. */
export function coverStrips(block: CoverBlock, place: Place): Strip[] {
  const { tone } = block
  const { verdict, cover_title, subtitle } = place.style.settings
  const panel = panelIn(place.style, tone)
  const title = { level: 1, title: block.title, page: 0, y: 0 } as const
  const bookmark = { ...title }
  place.outline.push(bookmark)
  const set = (text: string, type: "H1" | "P", setting: Setting): Strip[] =>
    passageStrips({
      line: [{ text, ...(setting === verdict && { tone }) }],
      setting,
      node: addNode(place.node, type),
      column: textIn(panel),
      keepWithNext: true,
      ground: ground(panel),
    })
  const strips = [
    panelSpace(panel, 5, true),
    ...set(block.title, "H1", cover_title),
    panelSpace(panel, 2, true),
    ...set(block.verdict, "P", verdict),
    panelSpace(panel, 3, true),
    ...set(block.subtitle, "P", subtitle),
    panelSpace(panel, 3, true),
  ]
  return [...framed(panel, strips, 0), ...factsStrips({ rows: block.facts }, place)]
}
