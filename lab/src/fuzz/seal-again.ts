/**
 * What a forger without keys can do after a change: compute every hash anew and put it wherever the old one stood, leaves
 * included. What he cannot make are signatures.
 */
import { isJsonValue, isSha256Hex, type JsonObject, type JsonValue } from "@runseal/canonical"
import { bundleHash } from "@runseal/core/formulas/manifest-sections"
import { manifestHash, sealHash } from "@runseal/core/formulas/seal"
import { readBundle } from "@runseal/core/verify/document"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { BUNDLE_KIND } from "@runseal/core/vocabulary/versions"

/** A hash that changes others: a record's longest chain of hashes is shorter. */
const MAX_ROUNDS = 40

/** The text with every hash of a part made right again, as often as that changes others; as it was when it is no JSON. */
export function sealAgain(text: string): string {
  let sealed = text
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const stale = staleHashes(sealed)
    if (stale.size === 0) return sealed
    sealed = sealed.replace(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g, hash => stale.get(hash) ?? hash)
  }
  return sealed
}

/** Hashes that are not those of the parts they stand in, each with the right one. */
function staleHashes(text: string): ReadonlyMap<string, string> {
  const stale = new Map<string, string>()
  const note = (stated: JsonValue | undefined, right: string): void => {
    if (isSha256Hex(stated) && stated !== right) stale.set(stated, right)
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

/** Of what is no bundle, a hash that is never right. */
function sealOfBundle(value: JsonObject): string {
  const bundle = readBundle(value)
  return "unreadable" in bundle ? "0".repeat(64) : bundleHash(bundle)
}
