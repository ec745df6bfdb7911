/** Structure types used (ISO 32000-1, 14.8.4). */
type StructureType =
  | "Document"
  | "Sect"
  | "Div"
  | "H1"
  | "H2"
  | "H3"
  | "P"
  | "L"
  | "LI"
  | "Lbl"
  | "LBody"
  | "Table"
  | "Caption"
  | "THead"
  | "TBody"
  | "TR"
  | "TH"
  | "TD"
  | "Figure"

/** A node of the logical structure: the content in reading order, for screen readers. */
export type StructureNode = {
  readonly type: StructureType
  readonly parent?: StructureNode
  readonly children: (StructureNode | Mark)[]
  /** Read aloud in place of a drawing. */
  readonly alternative?: string
  /** What a table's header is the header of. */
  readonly scope?: "Row" | "Column"
  /** Numbering of a list. */
  readonly numbering?: "Decimal" | "Disc"
  /** Where a drawing is on its page, in PDF's coordinates; set when it is drawn. */
  box?: readonly [number, number, number, number]
}

/** A piece of a page's content that belongs to a node. */
export type Mark = { readonly page: number; readonly mark: number }

export function rootNode(): StructureNode {
  return { type: "Document", children: [] }
}

/** A new node, the last one of its parent. */
export function addNode(
  parent: StructureNode,
  type: StructureType,
  more: Pick<StructureNode, "alternative" | "scope" | "numbering"> = {},
): StructureNode {
  const node: StructureNode = { type, parent, children: [], ...more }
  parent.children.push(node)
  return node
}
