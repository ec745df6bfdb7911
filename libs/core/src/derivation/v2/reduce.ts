/** The sealed form of a record from its full form: what can be derived is left out, and named by its hash. docs/formats.md section 9. */
import type {
  Anchor,
  CompleteRecordLeaf,
  OutsideAnchor,
  OutsideAnchors,
  SealedOutside,
  SealedOutsideAnchor,
} from "../../artifacts/anchor.ts"
import type { Anchors, BundleBody, SealedBody, SealedBundle } from "../../artifacts/bundle-schema.ts"
import { DERIVED_NAMES, type DerivedHashes } from "../../artifacts/derived-sections.ts"
import type { SealedSections } from "../../artifacts/sealed-sections.ts"
import type { Sections } from "../../artifacts/sections.ts"
import { BUNDLE_KIND } from "../../vocabulary/versions.ts"
import { withheldResults } from "./withheld-results.ts"

/** The sealed form of a record that has no bundle hash yet. */
export function reduceBodyV2({ kind: _, sections, anchors, ...rest }: BundleBody): SealedBody {
  const withheld_results = withheldResults(sections)
  return {
    kind: BUNDLE_KIND,
    ...rest,
    sections: sealedSections(sections),
    ...(rest.manifest === undefined && { derived: derivedHashes(sections) }),
    ...(withheld_results && { withheld_results }),
    anchors: sealedAnchors(anchors),
  }
}

const derivedHashes = (sections: Sections): DerivedHashes =>
  Object.fromEntries(
    DERIVED_NAMES.flatMap(name => {
      const section = sections[name]
      return section === undefined ? [] : [[name, section.hash]]
    }),
  )

function sealedSections(sections: Sections): SealedSections {
  const {
    transport: _transport,
    epa: _epa,
    leakage_bundle: _leakage,
    efa: _efa,
    aer: _aer,
    hardware_attestation: _hardware,
    zksp_binding: _zksp,
    migration_token: _migration,
    replay_fingerprint: _replay,
    transcript: _transcript,
    pote_proof: _pote,
    registry: _registry,
    final_vfa: _final,
    ...held
  } = sections
  return held
}

function sealedAnchors({ pre_anchor, receipt, complete_record, outside, witnessed }: Anchors): SealedBundle["anchors"] {
  return {
    ...(pre_anchor && { pre_anchor: versionOnly(pre_anchor) }),
    ...(receipt && { receipt: versionOnly(receipt) }),
    ...(complete_record && { complete_record: sealedCompleteRecord(complete_record) }),
    ...(outside && { outside: outside.map(withoutLeaves) }),
    ...(witnessed && { witnessed }),
  }
}

const versionOnly = <Version extends string, Entry>({
  leaf,
  entry,
}: {
  readonly leaf: { readonly leaf_version: Version }
  readonly entry: Entry
}): { readonly leaf: { readonly leaf_version: Version }; readonly entry: Entry } => ({
  leaf: { leaf_version: leaf.leaf_version },
  entry,
})

/** The complete-record anchor as it is sealed: of the leaf its version and its place in the chain. */
export const sealedCompleteRecord = ({
  leaf: { leaf_version, tenant_ordinal, previous_record },
  entry,
}: Anchor<CompleteRecordLeaf>): NonNullable<SealedBundle["anchors"]["complete_record"]> => ({
  leaf: { leaf_version, tenant_ordinal, previous_record },
  entry,
})

const withoutLeaves = ({ pre_anchor, receipt, complete_record }: OutsideAnchors): SealedOutside => ({
  ...(pre_anchor && { pre_anchor: withoutLeaf(pre_anchor) }),
  ...(receipt && { receipt: withoutLeaf(receipt) }),
  ...(complete_record && { complete_record: withoutLeaf(complete_record) }),
})

const withoutLeaf = ({ leaf: _, ...entered }: OutsideAnchor): SealedOutsideAnchor => entered
