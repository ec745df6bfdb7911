import type { Style } from "../page/style.ts"
import type { StructureNode } from "../tags/structure.ts"

/** A line of the outline and where it leads. `y` in points from the page's top. */
export type Bookmark = { readonly level: 1 | 2 | 3; readonly title: string; page: number; y: number }

/** Where blocks go: the node they belong to, the outline they add to, and how they are set. */
export type Place = { readonly node: StructureNode; readonly outline: Bookmark[]; readonly style: Style }
