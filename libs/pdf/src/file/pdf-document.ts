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
import type { DocumentFonts } from "../fonts/document-fonts.ts"
import { writeFont } from "../fonts/font-objects.ts"
import type { Bookmark } from "../page/flow.ts"
import type { Sheet } from "../page/pen.ts"
import { PAGE } from "../page/style.ts"
import type { StructureNode } from "../tags/structure.ts"
import { writeStructure } from "../tags/structure-objects.ts"
import { readable } from "../text/visible.ts"
import { checkSum } from "./check-sum.node.ts"

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

// Numbers of a profile: signed, 16 bits before and after the point.

const FIXED = 65_536
const CURVE_POINTS = 1024

type Vector = readonly [number, number, number]

/** The primaries of IEC 61966-2-1 (sRGB) and the white of ICC's connection space, adapted to D50. */
const D50: Vector = [0.9642, 1, 0.8249]
const RED: Vector = [0.43607, 0.22249, 0.01392]
const GREEN: Vector = [0.38515, 0.71687, 0.09708]
const BLUE: Vector = [0.14307, 0.06061, 0.7141]

/** An ICC profile (ICC.1:2001-04) that says what the report's red, green and blue are: sRGB. */
function colourProfile(): Uint8Array {
  const curve = toneCurve()
  const tags: (readonly [string, Uint8Array])[] = [
    ["desc", description("sRGB IEC61966-2.1")],
    ["cprt", tagged("text", new TextEncoder().encode("No copyright, use freely\0"))],
    ["wtpt", vector(D50)],
    ["rXYZ", vector(RED)],
    ["gXYZ", vector(GREEN)],
    ["bXYZ", vector(BLUE)],
    ["rTRC", curve],
    ["gTRC", curve],
    ["bTRC", curve],
  ]
  const start = 128 + 4 + tags.length * 12
  const distinct = [...new Set(tags.map(([, body]) => body))]
  const offsets = new Map<Uint8Array, number>()
  let length = start
  for (const body of distinct) {
    offsets.set(body, length)
    length += (body.length + 3) & ~3
  }
  const profile = new Uint8Array(length)
  const data = new DataView(profile.buffer)
  writeHeader(profile, data, length)
  data.setUint32(128, tags.length)
  for (const [index, [name, body]] of tags.entries()) {
    ascii(profile, 132 + index * 12, name)
    data.setUint32(136 + index * 12, offsets.get(body) ?? 0)
    data.setUint32(140 + index * 12, body.length)
  }
  for (const [body, offset] of offsets) profile.set(body, offset)
  return profile
}

function writeHeader(profile: Uint8Array, data: DataView, length: number): void {
  data.setUint32(0, length)
  data.setUint32(8, 0x02100000)
  ascii(profile, 12, "mntrRGB XYZ ")
  for (const [index, part] of [1999, 6, 3].entries()) data.setUint16(24 + index * 2, part)
  ascii(profile, 36, "acsp")
  for (const [index, part] of D50.entries()) data.setInt32(68 + index * 4, Math.round(part * FIXED))
}

function ascii(bytes: Uint8Array, at: number, text: string): void {
  bytes.set(new TextEncoder().encode(text), at)
}

function tagged(type: string, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(8 + body.length)
  ascii(bytes, 0, type)
  bytes.set(body, 8)
  return bytes
}

function vector(value: Vector): Uint8Array {
  const data = new DataView(new ArrayBuffer(12))
  for (const [index, part] of value.entries()) data.setInt32(index * 4, Math.round(part * FIXED))
  return tagged("XYZ ", new Uint8Array(data.buffer))
}

/** textDescriptionType: the text in ASCII, and empty Unicode and Macintosh forms of it. */
function description(text: string): Uint8Array {
  const body = new Uint8Array(4 + text.length + 1 + 4 + 4 + 2 + 1 + 67)
  new DataView(body.buffer).setUint32(0, text.length + 1)
  ascii(body, 4, text)
  return tagged("desc", body)
}

function toneCurve(): Uint8Array {
  const data = new DataView(new ArrayBuffer(4 + CURVE_POINTS * 2))
  data.setUint32(0, CURVE_POINTS)
  for (let index = 0; index < CURVE_POINTS; index++) {
    const value = index / (CURVE_POINTS - 1)
    const linear = value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
    data.setUint16(4 + index * 2, Math.round(linear * 65_535))
  }
  return tagged("curv", new Uint8Array(data.buffer))
}

/** ISO 19005-3: associated files allowed, all text mapped to Unicode. */
const PDFA_PART = 3
const PDFA_CONFORMANCE = "U"

/** A date of a PDF (ISO 32000-1, 7.9.4), to the second, UTC. */
function pdfDate(date: string): string {
  return `D:${wholeSecond(date).replace(/[-:TZ]/g, "")}Z`
}

function wholeSecond(date: string): string {
  return `${new Date(date).toISOString().slice(0, 19)}Z`
}

/** The document information dictionary; the same facts as in XMP. */
function writeInformation(context: PDFContext, report: Report): PDFRef {
  const date = PDFString.of(pdfDate(report.date))
  const creator = PDFHexString.fromText(readable(report.creator))
  return context.register(
    context.obj({
      Title: PDFHexString.fromText(readable(report.title)),
      Subject: PDFHexString.fromText(readable(report.subject)),
      Creator: creator,
      Producer: creator,
      CreationDate: date,
      ModDate: date,
    }),
  )
}

/** XMP (ISO 16684-1), uncompressed so that tools find it without reading PDF. */
function writeMetadata(context: PDFContext, report: Report): PDFRef {
  const bytes = new TextEncoder().encode(xmp(report))
  return context.register(context.stream(bytes, { Type: "Metadata", Subtype: "XML" }))
}

function xmp(report: Report): string {
  const date = wholeSecond(report.date)
  const title = escaped(report.title)
  const creator = escaped(report.creator)
  return `<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">
   <pdfaid:part>${PDFA_PART}</pdfaid:part>
   <pdfaid:conformance>${PDFA_CONFORMANCE}</pdfaid:conformance>
   <dc:format>application/pdf</dc:format>
   <dc:title><rdf:Alt><rdf:li xml:lang="x-default">${title}</rdf:li></rdf:Alt></dc:title>
   <dc:description><rdf:Alt><rdf:li xml:lang="x-default">${escaped(report.subject)}</rdf:li></rdf:Alt></dc:description>
   <dc:language><rdf:Bag><rdf:li>${escaped(report.language)}</rdf:li></rdf:Bag></dc:language>
   <xmp:CreatorTool>${creator}</xmp:CreatorTool>
   <xmp:CreateDate>${date}</xmp:CreateDate>
   <xmp:ModifyDate>${date}</xmp:ModifyDate>
   <xmp:MetadataDate>${date}</xmp:MetadataDate>
   <pdf:Producer>${creator}</pdf:Producer>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="r"?>`
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

function escaped(text: string): string {
  return readable(text).replace(/[&<>"]/g, sign => ENTITIES[sign] ?? "")
}
