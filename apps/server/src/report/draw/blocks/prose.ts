import type { CalloutBlock, CodeBlock, HeadingBlock, Line, ListBlock, ParagraphBlock, Tone } from "../../block.ts"
import type { Strip } from "../page/flow.ts"
import { type Column, passageStrips } from "../page/passage.ts"
import { artifact, fillRectangle, marked, type Pen } from "../page/pen.ts"
import { setLine } from "../page/set-line.ts"
import { INK, SETTINGS, WASH } from "../page/style.ts"
import { addNode } from "../tags/structure.ts"
import { wrap } from "../text/wrap.ts"
import { BLOCK_GAP, type Place, TEXT_COLUMN } from "./place.ts"

const HEADINGS = {
  1: { setting: SETTINGS.h1, type: "H1", gap: 24 },
  2: { setting: SETTINGS.h2, type: "H2", gap: 17 },
  3: { setting: SETTINGS.h3, type: "H3", gap: 13 },
} as const

const LIST_INDENT = 18
const PANEL_PADDING = 11
const PANEL_BAR = 3

export function headingStrips(block: HeadingBlock, place: Place): Strip[] {
  const { setting, type, gap } = HEADINGS[block.level]
  const bookmark = { level: block.level, title: block.text, page: 0, y: 0 }
  place.outline.push(bookmark)
  return passageStrips({
    line: [{ text: block.text }],
    setting,
    node: addNode(place.node, type),
    column: TEXT_COLUMN,
    gap,
    keep: true,
    begin: (pen, top) => {
      bookmark.page = pen.sheet.index
      bookmark.y = top
    },
  })
}

export function paragraphStrips(block: ParagraphBlock, place: Place): Strip[] {
  const node = addNode(place.node, "P")
  const { line, keep = false } = block
  return passageStrips({ line, setting: SETTINGS.body, node, column: TEXT_COLUMN, gap: BLOCK_GAP, keep })
}

export function listStrips(block: ListBlock, place: Place): Strip[] {
  const list = addNode(place.node, "L", { numbering: block.ordered ? "Decimal" : "Disc" })
  const column = { x: TEXT_COLUMN.x + LIST_INDENT, width: TEXT_COLUMN.width - LIST_INDENT }
  return block.items.flatMap((line, index) => {
    const item = addNode(list, "LI")
    const label = addNode(item, "Lbl")
    const sign = wrap([{ text: block.ordered ? `${index + 1}.` : "•", tone: "accent" }], SETTINGS.body, LIST_INDENT)
    return passageStrips({
      line,
      setting: SETTINGS.body,
      node: addNode(item, "LBody"),
      column,
      gap: index === 0 ? BLOCK_GAP : 3,
      begin: (pen, top) =>
        marked(pen, label, () => {
          for (const text of sign) setLine(pen, text, TEXT_COLUMN.x + LIST_INDENT - 6 - text.width, top)
        }),
    })
  })
}

export function calloutStrips(block: CalloutBlock, place: Place): Strip[] {
  const node = addNode(place.node, "Div")
  const title: Line = [{ text: block.title, tone: block.tone }]
  const passages = [
    { line: title, setting: SETTINGS.callout_title, keep: true },
    ...block.lines.map(line => ({ line, setting: SETTINGS.body, keep: false })),
  ]
  const strips = passages.flatMap(({ line, setting, keep }, index) => [
    ...(index === 0 ? [] : [panelSpace(block.tone, 3, index === 1)]),
    ...passageStrips({
      line,
      setting,
      node: addNode(node, "P"),
      column: PANEL_COLUMN,
      keep,
      ground: ground(block.tone),
    }),
  ])
  return panel(strips, block.tone)
}

/** Where text stands in a panel. */
export const PANEL_COLUMN: Column = {
  x: TEXT_COLUMN.x + PANEL_BAR + PANEL_PADDING,
  width: TEXT_COLUMN.width - PANEL_BAR - 2 * PANEL_PADDING,
}

/** Strips between the top and bottom of a panel. */
export function panel(strips: readonly Strip[], tone: Tone, gap: number = BLOCK_GAP + 3): Strip[] {
  const top = { ...panelSpace(tone, PANEL_PADDING - 3, true), gap }
  const body = strips.map((strip, index) => (index === strips.length - 1 ? { ...strip, keep: true } : strip))
  return [top, ...body, panelSpace(tone, PANEL_PADDING - 2, false)]
}

/** Empty room in a panel. */
export function panelSpace(tone: Tone, height: number, keep: boolean): Strip {
  return { height, gap: 0, keep, draw: (pen, top) => ground(tone)(pen, top, height) }
}

/** The ground of a panel behind one of its strips. */
export function ground(tone: Tone): (pen: Pen, top: number, height: number) => void {
  return (pen, top, height) =>
    artifact(pen, () => {
      fillRectangle(pen, TEXT_COLUMN.x, top, TEXT_COLUMN.width, height, WASH[tone])
      fillRectangle(pen, TEXT_COLUMN.x, top, PANEL_BAR, height, INK[tone])
    })
}

export function codeStrips(block: CodeBlock, place: Place): Strip[] {
  const node = addNode(place.node, "P")
  const strips = block.lines.flatMap(text =>
    passageStrips({
      line: [{ text, style: "mono" }],
      setting: SETTINGS.code,
      node: addNode(node, "Code"),
      column: PANEL_COLUMN,
      ground: ground("muted"),
    }),
  )
  return panel(strips, "muted", BLOCK_GAP)
}
