import type { CoverBlock } from "../block.ts"
import type { Strip } from "../page/flow.ts"
import { passageStrips } from "../page/passage.ts"
import { addNode } from "../tags/structure.ts"
import type { Setting } from "../text/setting.ts"
import type { Place } from "./bookmark-place.ts"
import { factsStrips } from "./facts.ts"
import { framed, ground, panelIn, panelSpace, textIn } from "./panel.ts"

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
