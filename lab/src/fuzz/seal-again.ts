/**
 * What a forger without keys can do after a change: recompute every hash and replace the old one everywhere, also in
 * leaves. Without keys there are no signatures.
 */
import { isJsonValue, isSha256Hex, type JsonObject, type JsonValue } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { DERIVED_NAMES } from "@runseal/core/artifacts/derived-sections"
import type { Manifest } from "@runseal/core/artifacts/manifest"
import { preAnchorSections } from "@runseal/core/formulas/leaves"
import { bundleHash, executionManifest } from "@runseal/core/formulas/manifest-sections"
import { manifestHash, sealHash, type Unsealed } from "@runseal/core/formulas/seal"
import { readForms } from "@runseal/core/verify/document"
import { isObject, member } from "@runseal/core/vocabulary/json-members"
import { BUNDLE_KIND, BUNDLE_VIEW_KIND } from "@runseal/core/vocabulary/versions"

/** A new hash changes the hashes over it; a record's longest chain of hashes is shorter than this. */
const MAX_ROUNDS = 40

/** The text with every hash recomputed until none changes; unchanged when it is no JSON. */
export function sealAgain(text: string): string {
  let sealed = text
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const stale = staleHashes(sealed)
    if (stale.size === 0) return sealed
    sealed = sealed.replace(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g, hash => stale.get(hash) ?? hash)
  }
  return sealed
}

/** Wrong hashes of the parts that contain them, each with the right one. */
function staleHashes(text: string): ReadonlyMap<string, string> {
  const stale = new Map<string, string>()
  const note: Note = (written, right) => {
    if (isSha256Hex(written) && right !== undefined && written !== right) stale.set(written, right)
  }
  const visit = (value: JsonValue): void => {
    if (Array.isArray(value)) value.forEach(visit)
    if (!isObject(value)) return
    Object.values(value).forEach(visit)
    const sealed = value.withheld !== true && ("kind" in value || "version" in value)
    if (sealed) note(value.hash, sealHash(value))
    note(value.ManifestHash, manifestHash(value))
    if (value.kind === BUNDLE_KIND || value.kind === BUNDLE_VIEW_KIND) noteBundle(value, note)
  }
  try {
    const tree: unknown = JSON.parse(text)
    if (isJsonValue(tree)) visit(tree)
  } catch {
    return stale
  }
  return stale
}

type Note = (written: JsonValue | undefined, right: string | undefined) => void

/** Notes the seal of a bundle, and the hashes by which it names what is derived from its sections. Of any other value nothing is right. */
function noteBundle(value: JsonObject, note: Note): void {
  const forms = readForms(value)
  if ("unreadable" in forms) {
    note(value.bundle_hash, "0".repeat(64))
    return
  }
  const { sealed, bundle } = forms
  note(sealed.bundle_hash, bundleHash(sealed))
  for (const name of DERIVED_NAMES) note(sealed.derived?.[name], bundle.sections[name]?.hash)
  const { manifest } = sealed
  const rebuilt = rebuiltManifest(bundle)
  if (manifest === undefined || rebuilt === undefined) return
  const { ExecutionIDs, ...rest } = rebuilt
  for (const [i, id] of ExecutionIDs.entries()) note(manifest.ExecutionIDs[i], id)
  for (const [field, right] of Object.entries(rest)) note(member(manifest, field), `${right}`)
}

/** The manifest that the sections of a completed run give; undefined when one is missing. */
function rebuiltManifest({ sections, allow_token: token }: Bundle): Unsealed<Manifest, "ManifestHash"> | undefined {
  const { pote_proof, registry, final_vfa } = sections
  const before = preAnchorSections(sections)
  if (!(before && pote_proof && registry && final_vfa && token)) return undefined
  return executionManifest({ ...before, pote_proof, registry, final_vfa }, token, true)
}
