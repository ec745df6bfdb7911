/**
 * What a forger without keys can do after a change: recompute every hash and replace the old one everywhere, also in
 * leaves. Without keys there are no signatures.
 */
import { isJsonValue, isSha256Hex, type JsonObject, type JsonValue } from "@runseal/canonical"
import { bundleHash } from "@runseal/core/formulas/manifest-sections"
import { manifestHash, sealHash } from "@runseal/core/formulas/seal"
import { readForms } from "@runseal/core/verify/document"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { BUNDLE_KIND } from "@runseal/core/vocabulary/versions"

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
  const note = (written: JsonValue | undefined, right: string): void => {
    if (isSha256Hex(written) && written !== right) stale.set(written, right)
  }
  const visit = (value: JsonValue): void => {
    if (Array.isArray(value)) value.forEach(visit)
    if (!isObject(value)) return
    Object.values(value).forEach(visit)
    const sealed = value.withheld !== true && ("kind" in value || "version" in value)
    if (sealed) note(value.hash, sealHash(value))
    note(value.ManifestHash, manifestHash(value))
    if (value.kind === BUNDLE_KIND) note(value.bundle_hash, sealOfBundle(value))
  }
  try {
    const tree: unknown = JSON.parse(text)
    if (isJsonValue(tree)) visit(tree)
  } catch {
    return stale
  }
  return stale
}

/** The bundle's seal; for anything else a hash that is never right. */
function sealOfBundle(value: JsonObject): string {
  const forms = readForms(value)
  return "unreadable" in forms ? "0".repeat(64) : bundleHash(forms.sealed)
}
