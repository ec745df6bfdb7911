import { PDFContext, PDFHeader, PDFHexString, PDFInvalidObject, PDFRef, PDFString, PDFWriter } from "@cantoo/pdf-lib"
import { sha256Hex, utf8Encode } from "@runseal/canonical"
import {
  emptySignatureValue,
  RECORD_PARAMETERS,
  recordValue,
  signingTime,
  withSignedRange,
} from "@runseal/core/report-pdf/report-layout"
import type { Report } from "../block.ts"
import type { Bookmark } from "../blocks/bookmark-place.ts"
import type { DocumentFonts } from "../fonts/document-fonts.ts"
import { writeFont } from "../fonts/font-objects.ts"
import type { Sheet } from "../page/pen.ts"
import { PAGE } from "../page/style.ts"
import type { StructureNode } from "../tags/structure.ts"
import { writeStructure } from "../tags/structure-objects.ts"
import { readable } from "../text/visible.ts"
import { checkSum } from "./check-sum.node.ts"
import { colourProfile } from "./colour-profile.ts"
import { pdfDate, writeInformation, writeMetadata } from "./xmp-metadata.ts"

/** Everything drawn, before it is a file. */
export type Drawn = {
  readonly sheets: readonly Sheet[]
  readonly fonts: DocumentFonts
  readonly root: StructureNode
  readonly outline: readonly Bookmark[]
}

/** Hexadecimal digits of a file identifier: 16 bytes (ISO 32000-1, 14.4). */
const IDENTIFIER_DIGITS = 32

/**
 * Writes the PDF: version 1.7, without object streams, so that signature and record, which are registered first, are where a verifier
 * reads them. The room for the signature is empty, and the range that it will cover is stated.
 */
export async function writeDocument(report: Report, drawn: Drawn): Promise<Uint8Array> {
  const context = PDFContext.create()
  context.header = PDFHeader.forVersion(1, 7)
  const signature = writeSignature(context, report)
  const attachment = writeAttachment(context, report)
  const contents = drawn.sheets.map(sheet => sheet.operators.join("\n"))
  const pages = drawn.sheets.map(() => context.nextRef())
  const field = writeSignatureField(context, pages[0], signature)
  const tree = writePages(context, drawn, contents, pages, field)
  const outline = writeOutline(context, drawn.outline, pages)
  const marks = drawn.sheets.map(sheet => sheet.marks)
  const catalog = context.obj({
    Type: "Catalog",
    Pages: tree,
    Lang: PDFString.of(report.language),
    MarkInfo: { Marked: true },
    StructTreeRoot: writeStructure(context, drawn.root, pages, marks),
    ViewerPreferences: { DisplayDocTitle: true },
    PageMode: "UseOutlines",
    ...(outline && { Outlines: outline }),
    Metadata: writeMetadata(context, report),
    OutputIntents: [outputIntent(context)],
    Names: { EmbeddedFiles: { Names: [attachment.name, attachment.file] } },
    AF: [attachment.file],
    AcroForm: { Fields: [field], SigFlags: SIGNATURE_FLAGS },
  })
  const identifier = identify(report, contents)
  context.trailerInfo.Root = context.register(catalog)
  context.trailerInfo.Info = writeInformation(context, report)
  context.trailerInfo.ID = context.obj([identifier, identifier])
  return withSignedRange(await PDFWriter.forContext(context, Number.POSITIVE_INFINITY).serializeToBuffer())
}

function writePages(
  context: PDFContext,
  { sheets, fonts }: Drawn,
  contents: readonly string[],
  pages: readonly PDFRef[],
  field: PDFRef,
): PDFRef {
  const tree = context.nextRef()
  const refs = new Map([...fonts.used.values()].map(font => [font.resource, writeFont(context, font)]))
  for (const [index, sheet] of sheets.entries()) {
    const page = pages[index]
    if (page === undefined) continue
    const used = Object.fromEntries([...sheet.fonts.keys()].map(resource => [resource, refs.get(resource)]))
    const dictionary = context.obj({
      Type: "Page",
      Parent: tree,
      MediaBox: [0, 0, PAGE.width, PAGE.height],
      Resources: { Font: used },
      Contents: context.register(context.flateStream(contents[index] ?? "")),
      StructParents: index,
      Tabs: "S",
      ...(index === 0 && { Annots: [field] }),
    })
    context.assign(page, dictionary)
  }
  context.assign(tree, context.obj({ Type: "Pages", Kids: [...pages], Count: pages.length }))
  return tree
}

function outputIntent(context: PDFContext): PDFRef {
  const profile = context.register(context.flateStream(colourProfile(), { N: 3 }))
  const name = PDFString.of("sRGB IEC61966-2.1")
  return context.register(
    context.obj({
      Type: "OutputIntent",
      S: "GTS_PDFA1",
      OutputConditionIdentifier: name,
      Info: name,
      DestOutputProfile: profile,
    }),
  )
}

/** From what the file says, so that the same report has the same identifier. */
function identify(report: Report, contents: readonly string[]): PDFHexString {
  const { title, subject, date, key_valid_from, attachment } = report
  return PDFHexString.of(
    sha256Hex(JSON.stringify([title, subject, date, key_valid_from, attachment, contents.map(sha256Hex)])).slice(
      0,
      IDENTIFIER_DIGITS,
    ),
  )
}

/** The room for the signature. The library writes such an object as it is: its spelling is the verifier's. */
function writeSignature(context: PDFContext, { date, key_valid_from }: Report): PDFRef {
  const time = signingTime(Math.floor(Date.parse(date) / 1000), key_valid_from)
  return context.register(PDFInvalidObject.of(utf8Encode(emptySignatureValue(time))))
}

/** The evidence as an embedded file (ISO 32000-1, 7.11.4), associated with the document as its data (ISO 19005-3, 6.8). */
function writeAttachment(context: PDFContext, report: Report): { readonly file: PDFRef; readonly name: PDFHexString } {
  const { attachment } = report
  const bytes = utf8Encode(attachment.text)
  const name = PDFHexString.fromText(readable(attachment.name))
  const date = PDFString.of(pdfDate(report.date))
  const stream = context.register(PDFInvalidObject.of(recordValue(bytes)))
  const parameters = {
    Size: bytes.length,
    CreationDate: date,
    ModDate: date,
    CheckSum: PDFHexString.of(checkSum(bytes)),
  }
  context.assign(PDFRef.of(RECORD_PARAMETERS), context.obj(parameters))
  const file = context.register(
    context.obj({
      Type: "Filespec",
      F: name,
      UF: name,
      Desc: PDFHexString.fromText(readable(attachment.description)),
      AFRelationship: "Data",
      EF: { F: stream, UF: stream },
    }),
  )
  return { file, name }
}

type Entry = { readonly bookmark: Bookmark; readonly ref: PDFRef; readonly children: Entry[] }

/** The outline (ISO 32000-1, 12.3.3), every part open; undefined without headings. */
function writeOutline(
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

/** Printed, and not to be moved or deleted (ISO 32000-1, table 165). PDF/A wants the first. */
const FIELD_FLAGS = 132
/** There are signatures, and who changes the file may only append to it (ISO 32000-1, table 219). */
const SIGNATURE_FLAGS = 3

/** The one form field of a report: an invisible signature on its first page (ISO 32000-1, 12.7.4.5). */
function writeSignatureField(context: PDFContext, page: PDFRef | undefined, value: PDFRef): PDFRef {
  return context.register(
    context.obj({
      Type: "Annot",
      Subtype: "Widget",
      FT: "Sig",
      T: PDFString.of("Signature"),
      F: FIELD_FLAGS,
      Rect: [0, 0, 0, 0],
      P: page,
      V: value,
    }),
  )
}
