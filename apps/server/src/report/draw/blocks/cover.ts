import type { CoverBlock } from "../../block.ts"
import type { Strip } from "../page/flow.ts"
import { passageStrips } from "../page/passage.ts"
import { SETTINGS, type Setting } from "../page/style.ts"
import { addNode } from "../tags/structure.ts"
import type { Place } from "./place.ts"
import { ground, PANEL_COLUMN, panel, panelSpace } from "./prose.ts"
import { factsStrips } from "./tables.ts"

/** The outcome at a glance: a panel in the verdict's tone, then the facts that identify the run. */
export function coverStrips(block: CoverBlock, place: Place): Strip[] {
  const { tone } = block
  const behind = ground(tone)
  const title = { level: 1, title: block.title, page: 0, y: 0 } as const
  const bookmark = { ...title }
  place.outline.push(bookmark)
  const set = (text: string, type: "H1" | "P", setting: Setting): Strip[] =>
    passageStrips({
      line: [{ text, ...(setting === SETTINGS.verdict && { tone }) }],
      setting,
      node: addNode(place.node, type),
      column: PANEL_COLUMN,
      keep: true,
      ground: behind,
    })
  const strips = [
    panelSpace(tone, 5, true),
    ...set(block.title, "H1", SETTINGS.cover_title),
    panelSpace(tone, 2, true),
    ...set(block.verdict, "P", SETTINGS.verdict),
    panelSpace(tone, 3, true),
    ...set(block.subtitle, "P", SETTINGS.subtitle),
    panelSpace(tone, 3, true),
  ]
  return [...panel(strips, tone, 0), ...factsStrips({ rows: block.facts }, place)]
}
