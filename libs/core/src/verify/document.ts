/** Reads and verifies a document of any kind: the entry point of CLI, server, SDK and browser. */
import {
  holdsNul,
  isJsonValue,
  type JsonObject,
  type JsonValue,
  type KnownTexts,
  StrictJsonError,
} from "@runseal/canonical"
import { PUBLIC_REKOR } from "@runseal/log/trust/rekor-root"
import { TRUST_DOCUMENT_KIND } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { isObject } from "../vocabulary/json-members.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import { BUNDLE } from "./bundle.ts"
import type { DocumentKind, EvidenceLine, ReadDocument } from "./kind.ts"
import { type ParsedText, parseDocument, type Unreadable, unreadable } from "./parsed-text.ts"
import { RECEIPT } from "./receipt.ts"
import type { Report } from "./report.ts"
import { ADMIN_EVENT } from "./verify-admin-event.ts"
import { APPROVAL_REQUEST } from "./verify-approval-request.ts"
import { ATTESTATION } from "./verify-attestation.ts"
import { EXPORT_STATEMENT } from "./verify-export-statement.ts"
import { OPENING } from "./verify-opening.ts"
import { PERMIT_END } from "./verify-permit-end.ts"
import { RUN_STATEMENT } from "./verify-run-statement.ts"

/** One row a kind of document. The first that recognizes a document reads it. */
export const KINDS: readonly DocumentKind[] = [
  BUNDLE,
  EXPORT_STATEMENT,
  PERMIT_END,
  ADMIN_EVENT,
  OPENING,
  APPROVAL_REQUEST,
  RECEIPT,
  ATTESTATION,
  RUN_STATEMENT,
]

/** The row of a kind, by the name that reports have for it; undefined for a name of no kind. */
export const kindNamed = (document: string): DocumentKind | undefined => KINDS.find(kind => kind.document === document)

export const isUnreadable = (result: Report | Unreadable): result is Unreadable => "unreadable" in result

/** Reads a document of any kind. */
export function readDocument(
  { value, mayHoldNul }: Omit<ParsedText, "known">,
  kinds: readonly DocumentKind[] = KINDS,
): ReadDocument | Unreadable {
  if (mayHoldNul && holdsNul(value)) return unreadable("a text holds U+0000, which no record of ours can")
  if (!isObject(value)) return unreadable(NO_DOCUMENT)
  const kind = kinds.find(({ recognizes }) => recognizes(value))
  return kind === undefined ? unreadable(adviceFor(value)) : kind.read(value)
}

const NO_DOCUMENT = "not a JSON object that can be sealed exactly"
const NO_KIND =
  "not a Runseal document: expected an audit bundle, a receipt answer, an attestation, an opening, a request for an approval, an end of permits, an admin event, an export statement or a run statement"
export const NO_CHAIN_DOCUMENT =
  "this line is no document of a chain: no record, no request for an approval, no opening or end of permits, and no admin event"

/**
 * Parses and verifies a document of ours against trusted keys from outside it. Hostile input never throws.
 * @param input JSON text or its UTF-8 bytes.
 * @param trusts keys of the services the caller trusts; the public Rekor log's key is always known.
 */
export function verifyText(
  input: string | Uint8Array,
  trusts: readonly TrustedKeys[],
  kinds: readonly DocumentKind[] = KINDS,
): Report | Unreadable {
  try {
    return verifyParsed(parseDocument(input), trusts, kinds)
  } catch (error) {
    if (error instanceof StrictJsonError) return unreadable(`not strict JSON: ${error.message}`)
    throw error
  }
}

/** As `verifyText`, for a text that is parsed already. */
export function verifyParsed(
  parsed: ParsedText,
  trusts: readonly TrustedKeys[],
  kinds: readonly DocumentKind[] = KINDS,
): Report | Unreadable {
  const read = readDocument(parsed, kinds)
  return "unreadable" in read ? read : verifyRead(read, trusts, parsed.known)
}

/** As `verifyText`, for any value. */
export const verifyDocument = (value: unknown, trusts: readonly TrustedKeys[]): Report | Unreadable =>
  isJsonValue(value) ? verifyJson(value, trusts) : unreadable(NO_DOCUMENT)

/** As `verifyDocument`, for a value that `canonicalize` has accepted as it is. */
export const verifyJson = (value: JsonValue, trusts: readonly TrustedKeys[]): Report | Unreadable =>
  verifyParsed({ value, mayHoldNul: true }, trusts)

/** As `verifyText`, for a document that is read already. */
export const verifyRead = (read: ReadDocument, trusts: readonly TrustedKeys[], known?: KnownTexts): Report =>
  read.verify([...trusts, PUBLIC_REKOR], known)

/** The bundle in a text, in full; undefined for any other document. @throws StrictJsonError when it is no JSON */
export function bundleOf(input: string | Uint8Array): Bundle | undefined {
  const read = readDocument(parseDocument(input))
  return "unreadable" in read ? undefined : read.forms?.bundle
}

/** The anchors of a document, in the order of its report; none for other texts. @throws StrictJsonError when it is no JSON */
export function anchorsOf(input: Uint8Array): readonly SlottedAnchor[] {
  const read = readDocument(parseDocument(input))
  return "unreadable" in read ? [] : read.anchors()
}

/** The summary of a text that was verified; empty for other documents. @throws StrictJsonError when it is no JSON */
export function evidenceOf(input: Uint8Array): readonly EvidenceLine[] {
  const read = readDocument(parseDocument(input))
  return "unreadable" in read ? [] : read.evidence()
}

function adviceFor(value: JsonObject): string {
  if (Object.hasOwn(value, "allow_token"))
    return "an allow token is not checked alone: save the run's bundle from /runs/{id}/artifacts and verify that"
  if (value.kind === TRUST_DOCUMENT_KIND) return "this is a trust document, not a record: pass it with --trust FILE"
  if (Array.isArray(value.runs))
    return "this is a list of runs, not a record: save the bundle of one from /runs/{id}/artifacts and verify that"
  if (value.ok === false)
    return "this is an error answer, not a sealed record: save the run's bundle or receipt and verify that"
  return NO_KIND
}
