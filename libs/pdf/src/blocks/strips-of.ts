import type { Block } from "../block.ts"
import type { Strip } from "../page/flow.ts"
import type { Place } from "./bookmark-place.ts"
import { calloutStrips } from "./callout.ts"
import { coverStrips } from "./cover-block.ts"
import { factsStrips } from "./facts.ts"
import { gaugeStrips } from "./gauge.ts"
import { headingStrips, listStrips, paragraphStrips } from "./prose.ts"
import { tableStrips } from "./table-block.ts"
import { timelineStrips } from "./timeline-block.ts"

/** The strips that draw a block. Adds its nodes to the logical structure and its headings to the outline. */
export function stripsOf(block: Block, place: Place): Strip[] {
  switch (block.kind) {
    case "cover":
      return coverStrips(block, place)
    case "heading":
      return headingStrips(block, place)
    case "paragraph":
      return paragraphStrips(block, place)
    case "list":
      return listStrips(block, place)
    case "callout":
      return calloutStrips(block, place)
    case "facts":
      return factsStrips(block, place)
    case "table":
      return tableStrips(block, place)
    case "timeline":
      return timelineStrips(block, place)
    case "gauge":
      return gaugeStrips(block, place)
  }
}
