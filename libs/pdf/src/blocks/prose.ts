import type { HeadingBlock, ListBlock, ParagraphBlock } from "../block.ts"
import type { Place, Strip } from "../page/flow.ts"
import { passageStrips } from "../page/passage.ts"
import { marked } from "../page/pen.ts"
import { setLine } from "../page/set-line.ts"
import { addNode } from "../tags/structure.ts"
import { wrap } from "../text/wrap.ts"

const HEADINGS = {
  1: { setting: "h1", type: "H1" },
  2: { setting: "h2", type: "H2" },
  3: { setting: "h3", type: "H3" },
} as const

const LIST_INDENT = 18

export function headingStrips(block: HeadingBlock, place: Place): Strip[] {
  const { settings, gaps, column } = place.style
  const { setting, type } = HEADINGS[block.level]
  const bookmark = { level: block.level, title: block.text, page: 0, y: 0 }
  place.outline.push(bookmark)
  const strips = passageStrips({
    line: [{ text: block.text }],
    setting: settings[setting],
    node: addNode(place.node, type),
    column,
    gap: gaps.heading[block.level - 1] ?? 0,
    keepWithNext: true,
    begin: (pen, top) => {
      bookmark.page = pen.sheet.index
      bookmark.y = top
    },
  })
  return strips.map((strip, index) => (index === 0 ? { ...strip, opensPart: true } : strip))
}

export function paragraphStrips(block: ParagraphBlock, place: Place): Strip[] {
  const node = addNode(place.node, "P")
  const { line, keepWithNext = false } = block
  const { settings, gaps, column } = place.style
  return passageStrips({ line, setting: settings.body, node, column, gap: gaps.block, keepWithNext })
}

export function listStrips(block: ListBlock, place: Place): Strip[] {
  const list = addNode(place.node, "L", { numbering: block.ordered ? "Decimal" : "Disc" })
  const { gaps, column: whole } = place.style
  const { body } = place.style.settings
  const column = { x: whole.x + LIST_INDENT, width: whole.width - LIST_INDENT }
  return block.items.flatMap((line, index) => {
    const item = addNode(list, "LI")
    const label = addNode(item, "Lbl")
    const sign = wrap([{ text: block.ordered ? `${index + 1}.` : "•", tone: "accent" }], body, LIST_INDENT)
    return passageStrips({
      line,
      setting: body,
      node: addNode(item, "LBody"),
      column,
      gap: index === 0 ? gaps.block : gaps.item,
      begin: (pen, top) =>
        marked(pen, label, () => {
          for (const text of sign) setLine(pen, text, column.x - 6 - text.width, top)
        }),
    })
  })
}
