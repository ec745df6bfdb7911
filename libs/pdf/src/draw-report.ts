import type { Block, Report } from "./block.ts"
import type { Bookmark } from "./blocks/bookmark-place.ts"
import { stripsOf } from "./blocks/strips-of.ts"
import { writeDocument } from "./file/pdf-document.ts"
import { documentFonts } from "./fonts/document-fonts.ts"
import { flow } from "./page/flow.ts"
import { furniture } from "./page/furniture.ts"
import { newPen, type Pen } from "./page/pen.ts"
import { STYLES } from "./page/style.ts"
import { rootNode } from "./tags/structure.ts"

/**
 * Draws a report as a tagged PDF that carries its evidence. Pure: the same report gives the same bytes in every process.
 * Any text is drawn: a character that no font has, or that is invisible, becomes a small labelled box.
 */
export async function drawReport(report: Report): Promise<Uint8Array> {
  const fonts = documentFonts()
  const root = rootNode()
  const outline: Bookmark[] = []
  const style = STYLES[report.density]
  const strips = report.blocks.flatMap((block, index) =>
    stripsOf(freeBeforeHeading(block, index, report.blocks), { node: root, outline, style }),
  )
  const pens: Pen[] = []
  flow(strips, style.area, () => {
    // A page that is full becomes one text: as thousands of pieces, the pages of a long report would fill the heap.
    const full = pens.at(-1)?.sheet.operators ?? []
    full.splice(0, full.length, full.join("\n"))
    const pen = newPen(pens.length, fonts)
    pens.push(pen)
    return pen
  })
  const drawOnEvery = furniture(report, style, pens.length)
  for (const pen of pens) drawOnEvery(pen)
  return writeDocument(report, { sheets: pens.map(({ sheet }) => sheet), fonts, root, outline })
}

/** A paragraph before a heading may end its page: the heading starts another part, unless it is below the paragraph's own. */
function freeBeforeHeading(block: Block, index: number, blocks: readonly Block[]): Block {
  const next = blocks[index + 1]
  if (block.kind !== "paragraph" || next?.kind !== "heading") return block
  const above = blocks.slice(0, index).findLast(({ kind }) => kind !== "paragraph")
  const opens = above?.kind === "heading" && above.level < next.level
  return opens ? block : { kind: "paragraph", line: block.line }
}
