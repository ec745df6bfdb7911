/** The anchors of a document that was verified, for who hands them on. */
import { parseStrictJson } from "@runseal/canonical"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { exportStatementSchema } from "../artifacts/export-statement.ts"
import { parseExact } from "../artifacts/parse-exact.ts"
import { isObject } from "../vocabulary/json-members.ts"
import { RECEIPT_KEYS } from "../vocabulary/outcomes.ts"
import { bundleAnchors, type SlottedAnchor } from "./bundle.ts"
import { readBundle } from "./document.ts"
import { parseReceiptDocument } from "./receipt.ts"
import type { Report } from "./report.ts"
import { parseAttestation } from "./verify-attestation.ts"

/** The bundle in a text that was verified; undefined for any other document. @throws StrictJsonError when it is no JSON */
export function bundleOf(input: Uint8Array, document: Report["document"]): Bundle | undefined {
  const value = document === "bundle" ? parseStrictJson(input) : undefined
  const bundle = value !== undefined && isObject(value) ? readBundle(value) : undefined
  return bundle === undefined || "unreadable" in bundle ? undefined : bundle
}

/**
 * The anchors in the order of the report.
 * @param input the text that was verified
 * @param document what its report calls it; empty for a text that is something else
 * @throws StrictJsonError when it is no JSON
 */
export function anchorsOf(input: Uint8Array, document: Report["document"]): readonly SlottedAnchor[] {
  if (document === "bundle") {
    const bundle = bundleOf(input, document)
    return bundle === undefined ? [] : bundleAnchors(bundle)
  }
  const value = parseStrictJson(input)
  if (!isObject(value)) return []
  if (document === "attestation") {
    const parsed = parseAttestation(value)
    return parsed.ok ? [{ slot: "attestation", anchor: parsed.value }] : []
  }
  if (document === "export_statement") {
    const parsed = parseExact(exportStatementSchema, value)
    return parsed.ok ? [{ slot: "export_statement", anchor: parsed.value }] : []
  }
  const key = RECEIPT_KEYS.find(name => Object.hasOwn(value, name))
  const read = key === undefined ? "no receipt" : parseReceiptDocument(value, key)
  if (typeof read === "string" || read.receipt_anchor === undefined) return []
  return [{ slot: "receipt", anchor: read.receipt_anchor }]
}
