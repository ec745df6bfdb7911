/** Recognizes our documents and reads their shape. What they say is for the checks. */
import type { JsonObject, JsonValue, KnownTexts } from "@runseal/canonical"
import { holdsNul, parseStrictJson, readCanonical } from "@runseal/canonical"
import { TRUST_DOCUMENT_KIND } from "@runseal/log/trust/trust-document"
import { type AdminEvent, adminEventSchema } from "../artifacts/admin-event.ts"
import type { AttestationDocument } from "../artifacts/attestation-answer.ts"
import { type Bundle, bundleSchema, type SealedBundle, sealedBundleSchema } from "../artifacts/bundle-schema.ts"
import { type ExportStatement, exportStatementSchema } from "../artifacts/export-statement.ts"
import { type Opening, openingSchema } from "../artifacts/opening.ts"
import { type Parsed, parseExact } from "../artifacts/parse-exact.ts"
import { type PermitEnd, permitEndSchema } from "../artifacts/permit-end.ts"
import { expand, reduce, withheldProblem } from "../derivation/derive.ts"
import { isObject, textMember } from "../vocabulary/json-members.ts"
import { RECEIPT_KEYS } from "../vocabulary/outcomes.ts"
import {
  ADMIN_EVENT_KIND,
  BUNDLE_KIND,
  BUNDLE_VIEW_KIND,
  DERIVATIONS,
  EXPORT_KIND,
  OPENING_KIND,
  PERMIT_END_KIND,
} from "../vocabulary/versions.ts"
import { parseReceiptDocument, type ReceiptDocument } from "./receipt.ts"
import { parseAttestation } from "./verify-attestation.ts"
import { type EnvelopedStatement, parseRunStatement } from "./verify-run-statement.ts"

/** A record in its two forms. */
export type BundleForms = {
  /** As it is sealed, stored and served. */
  readonly sealed: SealedBundle
  /** In full, as the sealed form gives it. */
  readonly bundle: Bundle
  /** In full as a document states it, where the document is the full form. */
  readonly view?: Bundle | undefined
}

/** A document of a known kind, whose shape is right. */
export type ReadDocument =
  | { readonly document: "bundle"; readonly value: BundleForms }
  | { readonly document: "export_statement"; readonly value: ExportStatement }
  | { readonly document: "opening"; readonly value: Opening }
  | { readonly document: "permit_end"; readonly value: PermitEnd }
  | { readonly document: "admin_event"; readonly value: AdminEvent }
  | { readonly document: "receipt"; readonly value: ReceiptDocument }
  | { readonly document: "attestation"; readonly value: AttestationDocument }
  | { readonly document: "run_statement"; readonly value: EnvelopedStatement }

/** Why a document could not be verified at all: it is unreadable or none of ours (exit 2). */
export type Unreadable = {
  readonly unreadable: string
  /** Set when only this verifier cannot read it: it names rules that came later. */
  readonly newer?: true
}

/** Longest sentence on an unreadable document, in UTF-16 units: it may quote the document. */
const MAX_SENTENCE_LENGTH = 300

/** One printable line: text of a hostile document begins no new line in it and steers no terminal. */
export const unreadable = (sentence: string): Unreadable => ({
  unreadable: sentence.slice(0, MAX_SENTENCE_LENGTH).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd"),
})

/** A document's text and its value. */
export type ParsedText = {
  readonly value: JsonValue
  readonly mayHoldNul: boolean
  /** The texts of its parts, when the whole is canonical. */
  readonly known?: KnownTexts
}

/** Parses a document's text. @throws StrictJsonError */
export function parseDocument(input: string | Uint8Array): ParsedText {
  // Documents as services write them are canonical, and this is quicker to see than to parse strictly.
  const known = readCanonical(withoutLineEnd(input))
  if (known !== undefined) return { value: known.value, mayHoldNul: known.mayHoldNul, known }
  return { value: parseStrictJson(input), mayHoldNul: true }
}

const LINE_FEED = 0x0a

/** An editor may have added a line end when the document was saved. */
function withoutLineEnd(input: string | Uint8Array): string | Uint8Array {
  if (typeof input === "string") return input.endsWith("\n") ? input.slice(0, -1) : input
  return input.at(-1) === LINE_FEED ? input.subarray(0, -1) : input
}

/** Reads a document of any kind. */
export function readDocument({ value, mayHoldNul }: Omit<ParsedText, "known">): ReadDocument | Unreadable {
  if (mayHoldNul && holdsNul(value)) return unreadable("a text holds U+0000, which no record of ours can")
  if (!isObject(value)) return unreadable(NO_DOCUMENT)
  if (isBundle(value)) return newerNeeded(value) ?? asRead("bundle", parseForms(value))
  if (value.kind === EXPORT_KIND) return asRead("export_statement", parseExact(exportStatementSchema, value))
  if (value.kind === OPENING_KIND) return asRead("opening", parseExact(openingSchema, value))
  if (value.kind === PERMIT_END_KIND) return asRead("permit_end", parseExact(permitEndSchema, value))
  if (value.kind === ADMIN_EVENT_KIND) return asRead("admin_event", parseExact(adminEventSchema, value))
  if (isObject(value.opening) && Object.hasOwn(value, "permit_id")) return readPermitAnswer(value, value.opening)
  const key = RECEIPT_KEYS.find(name => Object.hasOwn(value, name))
  if (key !== undefined) return asRead("receipt", parseReceiptDocument(value, key))
  if (Object.hasOwn(value, "attestation_id")) return asRead("attestation", parseAttestation(value))
  if (Object.hasOwn(value, "payloadType")) return asRead("run_statement", parseRunStatement(value))
  return unreadable(adviceFor(value))
}

/** The answer on a permit holds its sealed documents: its opening, and its end if nobody closed it. */
const readPermitAnswer = (answer: JsonObject, opening: JsonObject): ReadDocument | Unreadable =>
  Object.hasOwn(answer, "end")
    ? unreadable(
        "this answer holds two documents of a permit: save its opening and its end each by itself, and verify both",
      )
    : asRead("opening", parseExact(openingSchema, opening))

export const NO_DOCUMENT = "not a JSON object that can be sealed exactly"

const asRead = <Document extends string, Value>(
  document: Document,
  parsed: Parsed<Value>,
): { readonly document: Document; readonly value: Value } | Unreadable =>
  parsed.ok ? { document, value: parsed.value } : unreadable(parsed.problem)

/** Reads a bundle, in whichever of its forms, and gives its full form. */
export function readBundle(value: JsonObject): Bundle | Unreadable {
  const forms = readForms(value)
  return "unreadable" in forms ? forms : forms.bundle
}

/** Reads a bundle, in whichever of its forms. */
export function readForms(value: JsonObject): BundleForms | Unreadable {
  const newer = newerNeeded(value)
  if (newer !== undefined) return newer
  const parsed = parseForms(value)
  return parsed.ok ? parsed.value : unreadable(parsed.problem)
}

const isBundle = ({ kind }: JsonObject): boolean => kind === BUNDLE_KIND || kind === BUNDLE_VIEW_KIND

/** The answer on a record whose derived sections follow from it by rules that are not known here; undefined for any other. */
function newerNeeded({ run }: JsonObject): Unreadable | undefined {
  const derivation = textMember(run, "derivation")
  if (derivation === undefined || DERIVATIONS.some(name => name === derivation)) return undefined
  return { ...unreadable(`run.derivation: ${derivation} is not known here: a newer verifier is needed`), newer: true }
}

function parseForms(value: JsonObject): Parsed<BundleForms> {
  if (value.kind === BUNDLE_KIND) {
    const parsed = parseExact(sealedBundleSchema, value)
    return parsed.ok ? formsOf(parsed.value) : parsed
  }
  const parsed = parseExact(bundleSchema, value)
  return parsed.ok ? formsOf(reduce(parsed.value), parsed.value) : parsed
}

function formsOf(sealed: SealedBundle, view?: Bundle): Parsed<BundleForms> {
  const problem = withheldProblem(sealed)
  if (problem !== undefined) return { ok: false, problem }
  return { ok: true, value: { sealed, bundle: expand(sealed), view } }
}

function adviceFor(value: JsonObject): string {
  if (Object.hasOwn(value, "allow_token"))
    return "an allow token is not checked alone: save the run's bundle from /runs/{id}/artifacts and verify that"
  if (value.kind === TRUST_DOCUMENT_KIND) return "this is a trust document, not a record: pass it with --trust FILE"
  if (Array.isArray(value.runs))
    return "this is a list of runs, not a record: save the bundle of one from /runs/{id}/artifacts and verify that"
  if (value.ok === false)
    return "this is an error answer, not a sealed record: save the run's bundle or receipt and verify that"
  return "not a Runseal document: expected an audit bundle, a receipt answer, an attestation, an opening, an end of permits, an admin event, an export statement or a run statement"
}
