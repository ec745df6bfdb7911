/** Tells which of our documents a value is, and verifies it. The one door of CLI, server, SDK and browser. */
import type { JsonObject, JsonValue, KnownTexts } from "@runseal/canonical"
import { isJsonValue, parseStrictJson, readCanonical, StrictJsonError } from "@runseal/canonical"
import { PUBLIC_REKOR } from "@runseal/log/trust/rekor-root"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { bundleSchema } from "../artifacts/bundle-schema.ts"
import { exportStatementSchema } from "../artifacts/export-statement.ts"
import { parseExact } from "../artifacts/parse-exact.ts"
import { holdsNul, isObject } from "../vocabulary/json-members.ts"
import { RECEIPT_KEYS } from "../vocabulary/outcomes.ts"
import { BUNDLE_KIND, EXPORT_KIND } from "../vocabulary/versions.ts"
import { verifyBundle } from "./bundle.ts"
import { parseReceiptDocument, verifyReceipt } from "./receipt.ts"
import type { Report } from "./report.ts"
import { parseAttestation, verifyAttestation } from "./verify-attestation.ts"
import { verifyExportStatement } from "./verify-export-statement.ts"
import { parseRunStatement, verifyRunStatement } from "./verify-run-statement.ts"

/** Why a document could not be verified at all: it is unreadable or none of ours (exit 2). */
export type Unreadable = { readonly unreadable: string }

/** Longest sentence on an unreadable document, in UTF-16 units: it may quote what it speaks of. */
const MAX_SENTENCE_LENGTH = 300

/** One printable line: what is quoted of a hostile document starts no line of its own and steers no terminal. */
const unreadable = (sentence: string): Unreadable => ({
  unreadable: sentence.slice(0, MAX_SENTENCE_LENGTH).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd"),
})

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

/** A document's text with what it says. */
export type ParsedText = {
  readonly value: JsonValue
  readonly mayHoldNul: boolean
  /** Where its parts stand in the text, when that is canonical. */
  readonly known?: KnownTexts
}

/** Reads a document's text. @throws StrictJsonError */
export function parseDocument(input: string | Uint8Array): ParsedText {
  // Documents as services write them are canonical, which is quicker to see than to read strictly.
  const known = readCanonical(withoutLineEnd(input))
  if (known !== undefined) return { value: known.value, mayHoldNul: known.mayHoldNul, known }
  return { value: parseStrictJson(input), mayHoldNul: true }
}

const LINE_FEED = 0x0a

/** Who saved a document may have ended the line. */
function withoutLineEnd(input: string | Uint8Array): string | Uint8Array {
  if (typeof input === "string") return input.endsWith("\n") ? input.slice(0, -1) : input
  return input.at(-1) === LINE_FEED ? input.subarray(0, -1) : input
}

/** As `verifyText`, for a text that is parsed already. */
export const verifyParsed = (
  { value, mayHoldNul, known }: ParsedText,
  trusts: readonly TrustedKeys[],
): Report | Unreadable => (mayHoldNul ? verifyJson(value, trusts) : verifyWithoutNul(value, trusts, known))

const HOLDS_NUL = "a text holds U+0000, which no record of ours can"

/** As `verifyText`, for a value that is parsed already. */
export function verifyDocument(value: unknown, trusts: readonly TrustedKeys[]): Report | Unreadable {
  return isJsonValue(value) ? verifyJson(value, trusts) : unreadable(NO_DOCUMENT)
}

const NO_DOCUMENT = "not a JSON object that can be sealed exactly"

/** As `verifyDocument`, for a value that `canonicalize` has accepted as it is. */
export const verifyJson = (value: JsonValue, trusts: readonly TrustedKeys[]): Report | Unreadable =>
  holdsNul(value) ? unreadable(HOLDS_NUL) : verifyWithoutNul(value, trusts)

function verifyWithoutNul(value: JsonValue, trusts: readonly TrustedKeys[], texts?: KnownTexts): Report | Unreadable {
  if (!isObject(value)) return unreadable(NO_DOCUMENT)
  const known = [...trusts, PUBLIC_REKOR]
  if (value.kind === BUNDLE_KIND) {
    const bundle = readBundle(value)
    return "unreadable" in bundle ? bundle : verifyBundle(bundle, known, texts)
  }
  if (value.kind === EXPORT_KIND) {
    const parsed = parseExact(exportStatementSchema, value)
    return parsed.ok ? verifyExportStatement(parsed.value, known) : unreadable(parsed.problem)
  }
  const key = RECEIPT_KEYS.find(name => Object.hasOwn(value, name))
  if (key !== undefined) {
    const document = parseReceiptDocument(value, key)
    return typeof document === "string" ? unreadable(document) : verifyReceipt(document, known)
  }
  if (Object.hasOwn(value, "attestation_id")) {
    const parsed = parseAttestation(value)
    return parsed.ok ? verifyAttestation(parsed.value, known) : unreadable(parsed.problem)
  }
  if (Object.hasOwn(value, "payloadType")) {
    const parsed = parseRunStatement(value)
    return parsed.ok ? verifyRunStatement(parsed.value, known) : unreadable(parsed.problem)
  }
  return unreadable(adviceFor(value))
}

/** Reads a bundle's shape; what it says is for the checks. */
export function readBundle(value: JsonObject): Bundle | Unreadable {
  // A schema without required fields takes an empty list for an object.
  if (Array.isArray(value.anchors)) return unreadable("anchors: must be an object")
  const parsed = parseExact(bundleSchema, value)
  return parsed.ok ? parsed.value : unreadable(parsed.problem)
}

function adviceFor(value: JsonObject): string {
  if (Object.hasOwn(value, "allow_token"))
    return "an allow token is not checked alone: save the run's bundle from /runs/{id}/artifacts and verify that"
  if (value.ok === false)
    return "this is an error answer, not a sealed record: save the run's bundle or receipt and verify that"
  return "not a Runseal document: expected an audit bundle, a receipt answer, an attestation, an export statement or a run statement"
}
