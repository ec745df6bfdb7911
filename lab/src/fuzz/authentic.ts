/**
 * The published documents that a fuzzer starts with, and whether a document that verifies differs from all of them:
 * then it was made without keys.
 */
import { readdirSync, readFileSync } from "node:fs"
import { canonicalize, type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import { DECLARED_NAMES } from "@runseal/core/artifacts/declared-sections"
import { isObject } from "@runseal/core/vocabulary/json-members"
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
  ...["bundles", "receipts", "attestations"].flatMap(kind => vectors(`${kind}/valid`)),
  // An export begins with its statement, which is a document of its own.
  ...vectors("exports/valid").map(lines => lines.subarray(0, lines.indexOf(0x0a))),
]

/** Gives a function that decides whether a verified document is one of the published ones, in all parts that a seal binds. */
export function authenticity(): (document: JsonObject) => boolean {
  const known = new Set<string>()
  const originals = new Map<string, JsonObject>()
  for (const bytes of validDocuments()) {
    const document = parseStrictJson(bytes)
    if (!isObject(document)) continue
    known.add(bound(document, originals))
  }
  // Once more, now that every section withheld in one document is known from another.
  for (const bytes of validDocuments()) {
    const document = parseStrictJson(bytes)
    if (isObject(document)) known.add(bound(document, originals))
  }
  return document => known.has(bound(document, originals))
}

/**
 * The bound parts of a document, in canonical form. The holder may withhold declared sections; a run whose leaf is v5
 * may be shown without its complete-record anchor; a receipt of anchor v1, or without anchor, binds no run number.
 */
function bound(document: JsonObject, originals: Map<string, JsonObject>): string {
  const { sections, anchors, run } = document
  if (isObject(sections) && isObject(anchors)) {
    const shown = Object.fromEntries(
      Object.entries(sections).map(([name, section]) => [name, asSealed(name, section, originals)]),
    )
    const { complete_record: _complete, ...first } = anchors
    const old = isObject(run) && run.leaf_version === "vfa.leaf.v5"
    return canonicalize({ ...document, sections: shown, anchors: old ? first : anchors })
  }
  const { receipt_anchor: anchor, run_id: _run, ...rest } = document
  const leaf = isObject(anchor) ? anchor.leaf : undefined
  const numbered = isObject(leaf) && leaf.leaf_version === "vfa.receipt_anchor.v2"
  return canonicalize(
    numbered || !("ok" in document) || !("run_id" in document) ? document : { ...rest, ...(anchor ? { anchor } : {}) },
  )
}

/** A declared section as it was sealed, also when it is withheld. */
function asSealed(name: string, section: JsonValue, originals: Map<string, JsonObject>): JsonValue {
  if (!isObject(section) || !DECLARED_NAMES.some(declared => declared === name)) return section
  const key = `${name} ${String(section.hash)}`
  if (section.withheld !== true) {
    if (!originals.has(key)) originals.set(key, section)
    return section
  }
  const exact = Object.keys(section).length === 3 && typeof section.kind === "string"
  return (exact ? originals.get(key) : undefined) ?? section
}
