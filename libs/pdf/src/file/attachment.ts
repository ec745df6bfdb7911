import { type PDFContext, PDFHexString, type PDFRef, PDFString } from "@cantoo/pdf-lib"
import { utf8Encode } from "@runseal/canonical"
import type { Report } from "../block.ts"
import { readable } from "../text/visible.ts"
import { checkSum } from "./check-sum.node.ts"
import { pdfDate } from "./xmp-metadata.ts"

/** The evidence as an embedded file (ISO 32000-1, 7.11.4), associated with the document as its data (ISO 19005-3, 6.8). */
export function writeAttachment(
  context: PDFContext,
  report: Report,
): { readonly file: PDFRef; readonly name: PDFHexString } {
  const { attachment } = report
  const bytes = utf8Encode(attachment.text)
  const name = PDFHexString.fromText(readable(attachment.name))
  const date = PDFString.of(pdfDate(report.date))
  const embedded = context.flateStream(bytes, {
    Type: "EmbeddedFile",
    Subtype: attachment.media_type,
    Params: { Size: bytes.length, CreationDate: date, ModDate: date, CheckSum: PDFHexString.of(checkSum(bytes)) },
  })
  const stream = context.register(embedded)
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
