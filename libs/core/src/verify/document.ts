/** Verifies a document of any kind: the entry point of CLI, server, SDK and browser. */
import { isJsonValue, type JsonValue, type KnownTexts, StrictJsonError } from "@runseal/canonical"
import { PUBLIC_REKOR } from "@runseal/log/trust/rekor-root"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { verifyForms } from "./bundle.ts"
import {
  NO_DOCUMENT,
  type ParsedText,
  parseDocument,
  type ReadDocument,
  readDocument,
  type Unreadable,
  unreadable,
} from "./read-document.ts"
import { verifyReceipt } from "./receipt.ts"
import type { Report } from "./report.ts"
import { verifyAdminEvent } from "./verify-admin-event.ts"
import { verifyAttestation } from "./verify-attestation.ts"
import { verifyExportStatement } from "./verify-export-statement.ts"
import { verifyOpening } from "./verify-opening.ts"
import { verifyPermitEnd } from "./verify-permit-end.ts"
import { verifyRunStatement } from "./verify-run-statement.ts"

export { type ParsedText, parseDocument, readBundle, readForms, type Unreadable } from "./read-document.ts"

export const isUnreadable = (result: Report | Unreadable): result is Unreadable => "unreadable" in result

/**
 * Parses and verifies a document of ours against trusted keys from outside it. Hostile input never throws.
 * @param input JSON text or its UTF-8 bytes.
 * @param trusts keys of the services the caller trusts; the public Rekor log's key is always known.
 */
export function verifyText(input: string | Uint8Array, trusts: readonly TrustedKeys[]): Report | Unreadable {
  try {
    return verifyParsed(parseDocument(input), trusts)
  } catch (error) {
    if (error instanceof StrictJsonError) return unreadable(`not strict JSON: ${error.message}`)
    throw error
  }
}

/** As `verifyText`, for a text that is parsed already. */
export function verifyParsed(parsed: ParsedText, trusts: readonly TrustedKeys[]): Report | Unreadable {
  const read = readDocument(parsed)
  return "unreadable" in read ? read : verifyRead(read, trusts, parsed.known)
}

/** As `verifyText`, for any value. */
export const verifyDocument = (value: unknown, trusts: readonly TrustedKeys[]): Report | Unreadable =>
  isJsonValue(value) ? verifyJson(value, trusts) : unreadable(NO_DOCUMENT)

/** As `verifyDocument`, for a value that `canonicalize` has accepted as it is. */
export const verifyJson = (value: JsonValue, trusts: readonly TrustedKeys[]): Report | Unreadable =>
  verifyParsed({ value, mayHoldNul: true }, trusts)

/** As `verifyText`, for a document that is read already. */
export function verifyRead(
  { document, value }: ReadDocument,
  trusts: readonly TrustedKeys[],
  known?: KnownTexts,
): Report {
  const all = [...trusts, PUBLIC_REKOR]
  switch (document) {
    case "bundle":
      return verifyForms(value, all, known)
    case "export_statement":
      return verifyExportStatement(value, all)
    case "opening":
      return verifyOpening(value, all, known)
    case "permit_end":
      return verifyPermitEnd(value, all)
    case "admin_event":
      return verifyAdminEvent(value, all)
    case "receipt":
      return verifyReceipt(value, all)
    case "attestation":
      return verifyAttestation(value, all)
    case "run_statement":
      return verifyRunStatement(value, all)
  }
}
