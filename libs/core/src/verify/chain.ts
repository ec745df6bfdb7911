/** Completeness of a tenant's chain over a run of records. docs/formats.md section 7.3. */
import type { CompleteRecordLeaf } from "../artifacts/anchor.ts"
import type { Bundle } from "../artifacts/bundle-schema.ts"
import { leafDigest } from "../formulas/leaves.ts"
import { ZERO_HASH } from "../vocabulary/scalars.ts"

/**
 * Why the records, in the order given, are not an unbroken piece of one tenant's chain; empty when they are.
 * It proves that between the first and the last nothing is missing, doubled or reordered; not that nothing follows.
 * Each bundle must be verified on its own as well.
 */
export function chainProblems(bundles: readonly Bundle[]): readonly string[] {
  const problems: string[] = []
  let previous: CompleteRecordLeaf | undefined
  for (const bundle of bundles) {
    const leaf = bundle.anchors.complete_record?.leaf
    if (leaf === undefined) problems.push(`run ${bundle.run.run_id} has no complete-record anchor`)
    else problems.push(...linkProblems(previous, leaf))
    previous = leaf ?? previous
  }
  return problems
}

function linkProblems(previous: CompleteRecordLeaf | undefined, leaf: CompleteRecordLeaf): readonly string[] {
  const name = `run ${leaf.run_id} (record ${leaf.tenant_ordinal})`
  if (previous === undefined) {
    const first = leaf.tenant_ordinal === 1
    return first && leaf.previous_record !== ZERO_HASH ? [`${name} is the first and names a predecessor`] : []
  }
  if (leaf.tenant_commitment !== previous.tenant_commitment) return [`${name} belongs to another tenant`]
  if (leaf.tenant_ordinal !== previous.tenant_ordinal + 1)
    return [`${name} does not follow record ${previous.tenant_ordinal}: records are missing, doubled or reordered`]
  return leaf.previous_record === leafDigest(previous) ? [] : [`${name} does not name the record before it`]
}
