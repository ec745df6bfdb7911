/** The anchors of a document that was verified, for a program that exports them or searches the log for them. */
import type { Bundle } from "../artifacts/bundle-schema.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import { bundleAnchors } from "./bundle.ts"
import { parseDocument, readDocument } from "./read-document.ts"

/** The bundle in a text, in full; undefined for any other document. @throws StrictJsonError when it is no JSON */
export function bundleOf(input: string | Uint8Array): Bundle | undefined {
  const read = readDocument(parseDocument(input))
  return !("unreadable" in read) && read.document === "bundle" ? read.value.bundle : undefined
}

/** The anchors of a document, in the order of its report; none for other texts. @throws StrictJsonError when it is no JSON */
export function anchorsOf(input: Uint8Array): readonly SlottedAnchor[] {
  const read = readDocument(parseDocument(input))
  if ("unreadable" in read) return []
  const { document, value } = read
  switch (document) {
    case "bundle":
      return bundleAnchors(value.bundle)
    case "receipt":
      return value.receipt_anchor === undefined ? [] : [{ slot: "receipt", anchor: value.receipt_anchor }]
    case "attestation":
    case "export_statement":
    case "opening":
    case "permit_end":
    case "admin_event":
      return [{ slot: document, anchor: value }]
    case "run_statement":
      return []
  }
}
