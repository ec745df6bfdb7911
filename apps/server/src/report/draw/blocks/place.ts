import type { Column } from "../page/passage.ts"
import { MARGIN, TEXT_WIDTH } from "../page/style.ts"
import type { StructureNode } from "../tags/structure.ts"

/** A line of the outline and where it leads. `y` in points from the page's top. */
export type Bookmark = { readonly level: 1 | 2 | 3; readonly title: string; page: number; y: number }

/** Where blocks go: the node they belong to, and the outline they add to. */
export type Place = { readonly node: StructureNode; readonly outline: Bookmark[] }

export const TEXT_COLUMN: Column = { x: MARGIN.left, width: TEXT_WIDTH }

/** Between blocks. */
export const BLOCK_GAP = 9
