/**
 * The full form of a record from its sealed form: with every derived section and every leaf. It adds nothing to what is sealed.
 * docs/formats.md section 9.
 */
import type { OutsideAnchors, SealedOutside } from "../../artifacts/anchor.ts"
import {
  type Anchors,
  type Bundle,
  type BundleBody,
  receiptOf,
  type SealedBundle,
} from "../../artifacts/bundle-schema.ts"
import type { Sections } from "../../artifacts/sections.ts"
import { tenantCommitment } from "../../formulas/decision.ts"
import { completeRecordLeaf, preAnchorLeaf, preAnchorSections, receiptLeaf, recordSeal } from "../../formulas/leaves.ts"
import { BUNDLE_VIEW_KIND } from "../../vocabulary/versions.ts"
import { sectionsAfterLog, sectionsBeforeLog } from "./derive-sections.ts"

/** The full form of a record. Sections and anchors that it cannot give are absent from it, which a verifier reports. */
export function expandV2(record: SealedBundle): Bundle {
  const { kind: _, derived: _derived, withheld_results: _withheld, sections: _kept, anchors: sealed, ...rest } = record
  const before = sectionsBeforeLog(record)
  const first = firstAnchor(record, before)
  const sections = first.pre_anchor === undefined ? before : sectionsAfterLog(record, before, first.pre_anchor)
  const body = { kind: BUNDLE_VIEW_KIND, ...rest, sections, anchors: first } as const
  const anchors = { ...first, ...lastAnchor(record, body) }
  const outside = sealed.outside?.map(log => withLeaves(log, anchors))
  const { witnessed } = sealed
  return { ...body, anchors: { ...anchors, ...(outside && { outside }), ...(witnessed && { witnessed }) } }
}

/** The record's first anchor with its leaf; absent where the record does not give the leaf. */
function firstAnchor(record: SealedBundle, before: Sections): Pick<Anchors, "pre_anchor" | "receipt"> {
  const { anchors, allow_token: token, run } = record
  const whole = preAnchorSections(before)
  const receipt = receiptOf(record)?.receipt
  return {
    ...(anchors.pre_anchor &&
      whole &&
      token && {
        pre_anchor: {
          leaf: preAnchorLeaf(anchors.pre_anchor.leaf.leaf_version, whole, token),
          entry: anchors.pre_anchor.entry,
        },
      }),
    ...(anchors.receipt &&
      receipt && {
        receipt: {
          leaf: receiptLeaf(anchors.receipt.leaf.leaf_version, receipt, run.run_id),
          entry: anchors.receipt.entry,
        },
      }),
  }
}

function lastAnchor(
  { anchors: { complete_record: sealed }, run, bundle_hash }: SealedBundle,
  body: BundleBody,
): Pick<Anchors, "complete_record"> {
  if (sealed === undefined) return {}
  const { tenant_ordinal, previous_record } = sealed.leaf
  const tenant_commitment = tenantCommitment(run.tenant_id, run.tenant_salt)
  const place = { tenant_commitment, tenant_ordinal, previous_record }
  const leaf = completeRecordLeaf(run.run_id, bundle_hash, recordSeal(body), place)
  return { complete_record: { leaf, entry: sealed.entry } }
}

/** The anchors in an outside log with the leaves of the record's own. */
const withLeaves = (log: SealedOutside, own: Anchors): OutsideAnchors => ({
  ...(log.pre_anchor && own.pre_anchor && { pre_anchor: { ...log.pre_anchor, leaf: own.pre_anchor.leaf } }),
  ...(log.receipt && own.receipt && { receipt: { ...log.receipt, leaf: own.receipt.leaf } }),
  ...(log.complete_record &&
    own.complete_record && { complete_record: { ...log.complete_record, leaf: own.complete_record.leaf } }),
})
