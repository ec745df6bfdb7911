import { PDFContext, PDFHeader, PDFHexString, type PDFRef, PDFString, PDFWriter } from "@cantoo/pdf-lib"
import { sha256Hex } from "@runseal/canonical"
import { signingTime, withSignedRange } from "@runseal/core/report-pdf/signature-object"
import type { Report } from "../block.ts"
import type { Bookmark } from "../blocks/bookmark-place.ts"
import type { DocumentFonts } from "../fonts/document-fonts.ts"
import { writeFont } from "../fonts/font-objects.ts"
import type { Sheet } from "../page/pen.ts"
import { PAGE } from "../page/style.ts"
import type { StructureNode } from "../tags/structure.ts"
import { writeStructure } from "../tags/structure-objects.ts"
import { writeAttachment } from "./attachment.ts"
import { colourProfile } from "./colour-profile.ts"
import { writeOutline } from "./outline.ts"
import { SIGNATURE_FLAGS, writeSignatureField } from "./signature-field.ts"
import { writeInformation, writeMetadata } from "./xmp-metadata.ts"

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
 * Writes the PDF: version 1.7, one cross-reference table, no object streams, so that a small strict reader reads it. The room for its
 * signature is empty, and the range that the signature will cover is stated.
 */
export async function writeDocument(report: Report, drawn: Drawn): Promise<Uint8Array> {
  const context = PDFContext.create()
  context.header = PDFHeader.forVersion(1, 7)
  const contents = drawn.sheets.map(sheet => sheet.operators.join("\n"))
  const pages = drawn.sheets.map(() => context.nextRef())
  const time = signatureTime(report)
  const field = writeSignatureField(context, pages[0], time)
  const tree = writePages(context, drawn, contents, pages, field)
  const attachment = writeAttachment(context, report)
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
  return withSignedRange(await PDFWriter.forContext(context, Number.POSITIVE_INFINITY).serializeToBuffer(), time)
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

function signatureTime({ date, key_valid_from }: Report): string {
  return signingTime(Math.floor(Date.parse(date) / 1000), key_valid_from)
}
