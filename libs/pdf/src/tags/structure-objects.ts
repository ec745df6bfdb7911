import { type PDFContext, PDFHexString, type PDFObject, type PDFRef } from "@cantoo/pdf-lib"
import { readable } from "../text/visible.ts"
import type { Mark, StructureNode } from "./structure.ts"

/**
 * Writes the logical structure (ISO 32000-1, 14.7): the tree, and for every page the nodes of its marks by number.
 * `marks` are the nodes of each page's marks.
 */
export function writeStructure(
  context: PDFContext,
  root: StructureNode,
  pages: readonly PDFRef[],
  marks: readonly (readonly StructureNode[])[],
): PDFRef {
  const treeRef = context.nextRef()
  const refs = new Map<StructureNode, PDFRef>()
  const rootRef = writeNode(context, root, treeRef, pages, refs)
  const parents = marks.flatMap((nodes, page) => [
    page,
    context.register(context.obj(nodes.map(node => refs.get(node)))),
  ])
  const tree = context.obj({
    Type: "StructTreeRoot",
    K: [rootRef],
    ParentTree: context.register(context.obj({ Nums: parents })),
    ParentTreeNextKey: marks.length,
  })
  context.assign(treeRef, tree)
  return treeRef
}

function writeNode(
  context: PDFContext,
  node: StructureNode,
  parent: PDFRef,
  pages: readonly PDFRef[],
  refs: Map<StructureNode, PDFRef>,
): PDFRef {
  const ref = context.nextRef()
  refs.set(node, ref)
  const home = node.children.find(isMark)?.page
  const kids = node.children.map(child => {
    if (!isMark(child)) return writeNode(context, child, ref, pages, refs)
    return child.page === home ? child.mark : { Type: "MCR", Pg: pages[child.page], MCID: child.mark }
  })
  const attributes = attributesOf(node)
  context.assign(
    ref,
    context.obj({
      Type: "StructElem",
      S: node.type,
      P: parent,
      K: kids,
      ...(home !== undefined && { Pg: pages[home] }),
      ...(node.alternative !== undefined && { Alt: text(node.alternative) }),
      ...(attributes !== undefined && { A: attributes }),
    }),
  )
  return ref
}

function attributesOf(node: StructureNode): Record<string, string | number[]> | undefined {
  if (node.scope !== undefined) return { O: "Table", Scope: node.scope }
  if (node.numbering !== undefined) return { O: "List", ListNumbering: node.numbering }
  if (node.box !== undefined)
    return { O: "Layout", Placement: "Block", BBox: node.box.map(edge => Math.round(edge * 100) / 100) }
  return undefined
}

function isMark(child: StructureNode | Mark): child is Mark {
  return "mark" in child
}

function text(value: string): PDFObject {
  return PDFHexString.fromText(readable(value))
}
