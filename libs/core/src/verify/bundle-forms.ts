/** Reads the shape of a record in whichever of its two forms it comes. docs/formats.md section 9. */
import type { JsonObject } from "@runseal/canonical"
import { type Bundle, bundleSchema, type SealedBundle, sealedBundleSchema } from "../artifacts/bundle-schema.ts"
import { type Parsed, parseExact } from "../artifacts/parse-exact.ts"
import { expand, reduce, withheldProblem } from "../derivation/derive.ts"
import { textMember } from "../vocabulary/json-members.ts"
import { BUNDLE_KIND, BUNDLE_VIEW_KIND, DERIVATIONS } from "../vocabulary/versions.ts"
import { type Unreadable, unreadable } from "./parsed-text.ts"

/** A record in its two forms. */
export type BundleForms = {
  /** As it is sealed, stored and served. */
  readonly sealed: SealedBundle
  /** In full, as the sealed form gives it. */
  readonly bundle: Bundle
  /** In full as a document states it, where the document is the full form. */
  readonly view?: Bundle | undefined
}

/** Reads a bundle, in whichever of its forms, and gives its full form. */
export function readBundle(value: JsonObject): Bundle | Unreadable {
  const forms = readForms(value)
  return "unreadable" in forms ? forms : forms.bundle
}

/** Reads a bundle, in whichever of its forms. */
export function readForms(value: JsonObject): BundleForms | Unreadable {
  const parsed = parseForms(value)
  if ("unreadable" in parsed) return parsed
  return parsed.ok ? parsed.value : unreadable(parsed.problem)
}

/** Whether a document is a record in one of its forms. */
export const isBundle = ({ kind }: JsonObject): boolean => kind === BUNDLE_KIND || kind === BUNDLE_VIEW_KIND

/** The answer on a record whose derived sections follow from it by rules that are not known here; undefined for any other. */
function newerNeeded({ run }: JsonObject): Unreadable | undefined {
  const derivation = textMember(run, "derivation")
  if (derivation === undefined || DERIVATIONS.some(name => name === derivation)) return undefined
  return { ...unreadable(`run.derivation: ${derivation} is not known here: a newer verifier is needed`), newer: true }
}

/** Reads the shape of a record, and gives both its forms. */
export function parseForms(value: JsonObject): Parsed<BundleForms> | Unreadable {
  const newer = newerNeeded(value)
  if (newer !== undefined) return newer
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
