import { type PDFContext, PDFHexString, type PDFRef, PDFString } from "@cantoo/pdf-lib"
import type { Report } from "../block.ts"
import { readable } from "../text/visible.ts"

/** ISO 19005-3: associated files allowed, all text mapped to Unicode. */
const PDFA_PART = 3
const PDFA_CONFORMANCE = "U"

/** A date of a PDF (ISO 32000-1, 7.9.4), to the second, UTC. */
export function pdfDate(date: string): string {
  return `D:${wholeSecond(date).replace(/[-:TZ]/g, "")}Z`
}

function wholeSecond(date: string): string {
  return `${new Date(date).toISOString().slice(0, 19)}Z`
}

/** The document information dictionary; the same facts as in XMP. */
export function writeInformation(context: PDFContext, report: Report): PDFRef {
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
export function writeMetadata(context: PDFContext, report: Report): PDFRef {
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
