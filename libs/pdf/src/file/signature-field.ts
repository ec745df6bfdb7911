import { type PDFContext, PDFInvalidObject, type PDFRef, PDFString } from "@cantoo/pdf-lib"
import { utf8Encode } from "@runseal/canonical"
import { emptySignatureValue } from "@runseal/core/report-pdf/signature-object"

/** Printed, and not to be moved or deleted (ISO 32000-1, table 165). PDF/A wants the first. */
const FIELD_FLAGS = 132
/** There are signatures, and who changes the file may only append to it (ISO 32000-1, table 219). */
export const SIGNATURE_FLAGS = 3

/**
 * The one form field of a report: an invisible signature on its first page (ISO 32000-1, 12.7.4.5), with room for the signature that
 * is made once the file is whole. @param time of the signature, as PDF spells it
 */
export function writeSignatureField(context: PDFContext, page: PDFRef | undefined, time: string): PDFRef {
  // The library writes such an object as it is: the signature's spelling is the verifier's.
  const value = context.register(PDFInvalidObject.of(utf8Encode(emptySignatureValue(time))))
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
