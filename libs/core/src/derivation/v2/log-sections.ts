/** Preimages of the derived sections of stages 7 to 9. docs/formats.md section 4. */
import { decodeBase64, encodeHex, type KnownTexts } from "@runseal/canonical"
import { hashLeaf } from "@runseal/log/merkle/rfc6962"
import type { Anchor, PreAnchorLeaf } from "../../artifacts/anchor.ts"
import type { FinalVfaSection, PoteProofSection, RegistrySection } from "../../artifacts/derived-sections.ts"
import type { AllowToken } from "../../artifacts/sealed-artifacts.ts"
import type { EnvelopeSection } from "../../artifacts/sealed-sections.ts"
import type { Sections } from "../../artifacts/sections.ts"
import { leafDigest, sectionHashes } from "../../formulas/leaves.ts"
import type { Unsealed } from "../../formulas/seal.ts"

/** Stage 7, LEDGER: proof that the pre-anchor leaf was taken into the log. What is no base64 counts as no bytes. */
export function poteProofSection(
  { leaf, entry }: Anchor<PreAnchorLeaf>,
  known?: KnownTexts,
): Unsealed<PoteProofSection> {
  const bytes = (base64: string): Uint8Array => decodeBase64(base64) ?? new Uint8Array()
  return {
    kind: "vfa.pote_proof.v1",
    leaf_hash: leafDigest(leaf, known),
    entry_hash: encodeHex(hashLeaf(bytes(entry.canonicalizedBody))),
    log_id: encodeHex(bytes(entry.logId.keyId)),
    log_index: entry.logIndex,
    integrated_time: entry.integratedTime,
  }
}

/** Stage 8, REGISTRY: name and hash of every artifact that exists before it. */
export function registrySection(
  envelope: EnvelopeSection,
  sections: Sections,
  token: AllowToken,
): Unsealed<RegistrySection> {
  const { registry: _registry, final_vfa: _final, ...existing } = sections
  const hashes: Record<string, string> = { ...sectionHashes(existing), allow_token: token.hash }
  const artifacts = Object.keys(hashes)
    .sort()
    .map(name => ({ name, hash: hashes[name] ?? "" }))
  return { kind: "vfa.registry.v1", envelope_id: envelope.envelope_id, artifacts }
}

/** Stage 9, DLA: one hash over the registry, which lists every other section. */
export const finalVfaSection = (envelope: EnvelopeSection, registry: RegistrySection): Unsealed<FinalVfaSection> => ({
  kind: "vfa.final_vfa.v2",
  envelope_id: envelope.envelope_id,
  registry_hash: registry.hash,
  declared_sections_hash: envelope.declared_sections_hash,
})
