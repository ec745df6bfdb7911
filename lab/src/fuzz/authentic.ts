/**
 * The published documents that a fuzzer starts with, and whether a document that verifies differs from all of them:
 * then it was made without keys.
 */
import { readdirSync, readFileSync } from "node:fs"
import { canonicalize, type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { WITHHOLDABLE_NAMES } from "@runseal/core/artifacts/declared-sections"
import { reduce, withholdSections } from "@runseal/core/derivation/derive"
import { readForms } from "@runseal/core/verify/bundle-forms"
import { isObject, member, textMember } from "@runseal/core/vocabulary/json-members"
import { BUNDLE_KIND } from "@runseal/core/vocabulary/versions"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"

const VECTORS = new URL("../../../libs/core/vectors/", import.meta.url)

/** The files of one folder of vectors. */
export function vectors(folder: string): readonly Uint8Array[] {
  const place = new URL(`${folder}/`, VECTORS)
  return readdirSync(place).map(name => new Uint8Array(readFileSync(new URL(name, place))))
}

/** One vector, by its path. */
export const vector = (path: string): Uint8Array => new Uint8Array(readFileSync(new URL(path, VECTORS)))

/** The trust document under which the vectors verify. */
export const trustText = (): Uint8Array => vector("trust.json")

/** Its keys. */
export function vectorTrust(): TrustedKeys {
  const trust = parseTrust(parseStrictJson(trustText()))
  if ("problem" in trust) throw new Error(trust.problem)
  return trust
}

/** All published documents that verify. */
export const validDocuments = (): readonly Uint8Array[] => [
  ...["bundles", "requests", "openings", "ends", "events", "receipts", "attestations", "statements"].flatMap(kind =>
    vectors(`${kind}/valid`),
  ),
  // An export begins with its statement, which is a document of its own.
  ...vectors("exports/valid").map(lines => lines.subarray(0, lines.indexOf(0x0a))),
]

/** Gives a function that decides whether a verified document is one of the published ones, in all parts that a seal binds. */
export function authenticity(): (document: JsonObject) => boolean {
  const others = new Set<string>()
  const records = new Map<string, Bundle>()
  const originals = new Map<string, JsonObject>()
  const documents = validDocuments()
    .map(bytes => parseStrictJson(bytes))
    .filter(isObject)
  // Twice, so that every section withheld in one document is known from another.
  for (const document of [...documents, ...documents]) {
    if (!isBundle(document)) {
      others.add(bound(document))
      continue
    }
    const forms = readForms(document)
    if ("unreadable" in forms) throw new Error(forms.unreadable)
    const { sealed, bundle } = forms
    for (const form of [canonicalize(sealed), canonicalize(bundle)]) {
      const json = parseStrictJson(form)
      const key = isObject(json) ? boundOfBundle(json, originals) : ""
      // One that withholds nothing says what any other may withhold.
      if (!records.has(key) || sealed.withheld_results === undefined) records.set(key, bundle)
    }
  }
  return document => {
    if (!isBundle(document)) return others.has(bound(document))
    const record = records.get(boundOfBundle(document, originals))
    return record !== undefined && hasItsResults(document, record)
  }
}

const isBundle = ({ sections, anchors }: JsonObject): boolean => isObject(sections) && isObject(anchors)

/**
 * The bound parts of a bundle in either form, in canonical form. The holder may withhold declared sections; a run whose leaf is v5 may be
 * shown without its complete-record anchor.
 */
function boundOfBundle(document: JsonObject, originals: Map<string, JsonObject>): string {
  const { withheld_results: _results, ...rest } = document
  const { sections, anchors, run } = rest
  const shown = Object.fromEntries(
    membersOf(sections).map(([name, section]) => [name, asSealed(name, section, originals)]),
  )
  const old = textMember(run, "leaf_version") === "vfa.leaf.v5"
  const slots = membersOf(anchors).filter(([slot]) => !(old && slot === "complete_record"))
  return canonicalize({ ...rest, sections: shown, anchors: Object.fromEntries(slots) })
}

const membersOf = (value: JsonValue | undefined): readonly (readonly [string, JsonValue])[] =>
  isObject(value) ? Object.entries(value) : []

/** Whether the sealed form of a record has exactly the results that its withheld sections need; the full form has none beside it. */
function hasItsResults(document: JsonObject, record: Bundle): boolean {
  const withheld = WITHHOLDABLE_NAMES.filter(name => member(member(document.sections, name), "withheld") === true)
  const { withheld_results } = reduce(withholdSections(record, withheld))
  const needed = document.kind === BUNDLE_KIND ? withheld_results : undefined
  return canonicalize(document.withheld_results ?? null) === canonicalize(needed ?? null)
}

/** The bound parts of any other document: a receipt of anchor v1, or without anchor, binds no run number. */
function bound(document: JsonObject): string {
  const { receipt_anchor: anchor, run_id: _run, ...rest } = document
  const leaf = isObject(anchor) ? anchor.leaf : undefined
  const numbered = isObject(leaf) && leaf.leaf_version === "vfa.receipt_anchor.v2"
  return canonicalize(
    numbered || !("ok" in document) || !("run_id" in document) ? document : { ...rest, ...(anchor ? { anchor } : {}) },
  )
}

/** A declared section as it was sealed, also when it is withheld. */
function asSealed(name: string, section: JsonValue, originals: Map<string, JsonObject>): JsonValue {
  if (!isObject(section) || !WITHHOLDABLE_NAMES.some(declared => declared === name)) return section
  const key = `${name} ${String(section.hash)}`
  if (section.withheld !== true) {
    if (!originals.has(key)) originals.set(key, section)
    return section
  }
  const exact = Object.keys(section).length === 3 && typeof section.kind === "string"
  return (exact ? originals.get(key) : undefined) ?? section
}
