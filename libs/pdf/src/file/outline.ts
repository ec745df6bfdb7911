import { type PDFContext, PDFHexString, type PDFRef } from "@cantoo/pdf-lib"
import type { Bookmark } from "../blocks/bookmark-place.ts"
import { PAGE } from "../page/style.ts"
import { readable } from "../text/visible.ts"

type Entry = { readonly bookmark: Bookmark; readonly ref: PDFRef; readonly children: Entry[] }

/** The outline (ISO 32000-1, 12.3.3), every part open; undefined without headings. */
export function writeOutline(
  context: PDFContext,
  bookmarks: readonly Bookmark[],
  pages: readonly PDFRef[],
): PDFRef | undefined {
  const top: Entry[] = []
  const open: Entry[] = []
  for (const bookmark of bookmarks) {
    while ((open.at(-1)?.bookmark.level ?? 0) >= bookmark.level) open.pop()
    const entry = { bookmark, ref: context.nextRef(), children: [] }
    const siblings = open.at(-1)?.children ?? top
    siblings.push(entry)
    open.push(entry)
  }
  const [first] = top
  const last = top.at(-1)
  if (first === undefined || last === undefined) return undefined
  const root = context.register(
    context.obj({ Type: "Outlines", First: first.ref, Last: last.ref, Count: bookmarks.length }),
  )
  writeEntries(context, top, root, pages)
  return root
}

function writeEntries(context: PDFContext, entries: readonly Entry[], parent: PDFRef, pages: readonly PDFRef[]): void {
  for (const [index, { bookmark, ref, children }] of entries.entries()) {
    const next = entries[index + 1]
    const previous = entries[index - 1]
    const [first] = children
    const last = children.at(-1)
    const entry = {
      Title: PDFHexString.fromText(readable(bookmark.title)),
      Parent: parent,
      Dest: [pages[bookmark.page], "XYZ", null, Math.round(PAGE.height - bookmark.y + 8), null],
      ...(previous && { Prev: previous.ref }),
      ...(next && { Next: next.ref }),
      ...(first && last && { First: first.ref, Last: last.ref, Count: countOf(children) }),
    }
    context.assign(ref, context.obj(entry))
    writeEntries(context, children, ref, pages)
  }
}

function countOf(entries: readonly Entry[]): number {
  return entries.reduce((count, { children }) => count + 1 + countOf(children), 0)
}
